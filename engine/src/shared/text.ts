/**
 * Postgres can't store NUL, and Neon can't parse a request with half a character (a lone surrogate). One such text
 * would make the query fail for a whole batch.
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Postgres and JavaScript agree on the years 1 to 9999. Postgres can't read most other years at all. */
export function isStorableTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/**
 * Reduces a text to one line without control and formatting characters, so that it can't disturb the place where it is
 * shown.
 */
export function cleanText(text: string, maxLength: number): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed();
}
