/** No provider's JSON is this deep, and recursive readers of the same body (a schema, jsonb) can still handle it. */
const MAX_DEPTH = 512;

/** JavaScript represents every integer of 15 digits exactly, but rounds some of 16. */
const LONG_NUMBER_DIGITS = 16;

export type ParseResult = { outcome: 'parsed'; json: unknown } | { outcome: 'malformed' };

/** Keeps a byte order mark, so that JSON that begins with one is refused (RFC 8259, section 8.1). */
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `undefined` if the body is not UTF-8. */
export function decodeText(body: Uint8Array): string | undefined {
  try {
    return STRICT_UTF8.decode(body);
  } catch {
    return undefined;
  }
}

/**
 * Parses an untrusted body. An integer beyond 2^53 becomes a string with its digits unchanged, because JavaScript would
 * round it, and two ids could become equal. Fractions are rounded as usual, because ids aren't fractions and many
 * systems write superfluous digits.
 */
export function parseJson(text: string): ParseResult {
  const { isTooDeep, hasLongNumber } = scan(text);
  if (isTooDeep) return { outcome: 'malformed' };
  try {
    return { outcome: 'parsed', json: hasLongNumber ? JSON.parse(text, keepDigits) : JSON.parse(text) };
  } catch {
    return { outcome: 'malformed' };
  }
}

/** Parses JSON Lines to a list. Ignores empty lines. */
export function parseLines(text: string): ParseResult {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const json = lines.map(parseJson).flatMap((parsed) => (parsed.outcome === 'parsed' ? [parsed.json] : []));
  return lines.length > 0 && json.length === lines.length ? { outcome: 'parsed', json } : { outcome: 'malformed' };
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const text = context?.source;
  if (typeof value !== 'number' || text === undefined) return value;
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? text : value;
}

/**
 * Looks for deep nesting and long numbers outside strings. One loop does both, because a second one would take nearly
 * as long as `JSON.parse`.
 */
function scan(text: string): { isTooDeep: boolean; hasLongNumber: boolean } {
  let depth = 0;
  let digits = 0;
  let hasLongNumber = false;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c /* \ */) i++;
      else if (char === 0x22 /* " */) inString = false;
    } else if (char >= 0x30 /* 0 */ && char <= 0x39 /* 9 */) {
      if (++digits === LONG_NUMBER_DIGITS) hasLongNumber = true;
    } else {
      digits = 0;
      if (char === 0x22) inString = true;
      else if (char === 0x7b /* { */ || char === 0x5b /* [ */) {
        if (++depth > MAX_DEPTH) return { isTooDeep: true, hasLongNumber };
      } else if (char === 0x7d /* } */ || char === 0x5d /* ] */) depth--;
    }
  }
  return { isTooDeep: false, hasLongNumber };
}

const FORM = 'application/x-www-form-urlencoded';

/**
 * The fields of a form. `undefined` if the content type is another one, because some JSON could also be read as a form.
 */
export function formOf(headers: Headers, body: Uint8Array): URLSearchParams | undefined {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const text = type.trim().toLowerCase() === FORM ? decodeText(body) : undefined;
  return text === undefined ? undefined : new URLSearchParams(text);
}

/** Converts a form to JSON. A field becomes a string, and a repeated field a list of strings. */
export function formAsJson(form: URLSearchParams): Record<string, string | string[]> {
  const entries = Array.from(formFields(form), ([name, values]): [string, string | string[]] => {
    const [value = '', ...more] = values;
    return [name, more.length === 0 ? value : values];
  });
  return Object.fromEntries(entries);
}

/** One pass, because calling `getAll` for each name is quadratic: a stranger's form of a few KiB would take seconds. */
export function formFields(form: URLSearchParams): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  for (const [name, value] of form) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}
