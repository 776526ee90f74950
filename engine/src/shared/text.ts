/**
 * Postgres can't store NUL, and Neon can't parse a request with half a character (a lone surrogate). One such text in a
 * query over a whole batch would make the query fail for all of them.
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Postgres and JavaScript agree on the years 1 to 9999. Postgres can't even read most of the others. */
export function isStorableTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** One line without control and formatting characters: what an operator wrote must not disturb where it is shown. */
export function cleanText(text: string, maxLength: number): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed();
}
