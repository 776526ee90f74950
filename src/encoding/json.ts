/** No provider nests this deep, and recursive readers of the same body (a schema, jsonb) can still handle it. */
const MAX_DEPTH = 512;

/** 2^53 has 16 digits, so only a run of at least 16 digits can be an integer that JavaScript rounds. */
const LONG_NUMBER_DIGITS = 16;

export type Parsed = { outcome: 'parsed'; json: unknown } | { outcome: 'malformed' };

/** A byte order mark is kept, because JSON must not begin with one (RFC 8259, section 8.1) and is refused. */
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
 * Parses an untrusted body. An integer that JavaScript would round becomes a string of its digits. Otherwise two ids
 * could become the same id, or an amount another amount.
 */
export function parseJson(text: string): Parsed {
  const { isTooDeep, hasLongNumber } = scan(text);
  if (isTooDeep) return { outcome: 'malformed' };
  try {
    return { outcome: 'parsed', json: hasLongNumber ? JSON.parse(text, keepDigits) : JSON.parse(text) };
  } catch {
    return { outcome: 'malformed' };
  }
}

/** JSON Lines as a list. Empty lines are ignored. */
export function parseLines(text: string): Parsed {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const json = lines.map(parseJson).flatMap((parsed) => (parsed.outcome === 'parsed' ? [parsed.json] : []));
  return lines.length > 0 && json.length === lines.length ? { outcome: 'parsed', json } : { outcome: 'malformed' };
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const rounded = typeof value === 'number' && !Number.isSafeInteger(value);
  return rounded && /^-?\d+$/.test(context?.source ?? '') ? context?.source : value;
}

/** What is outside of the strings of a text. One loop for both: a second one would take nearly as long as `JSON.parse`. */
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
