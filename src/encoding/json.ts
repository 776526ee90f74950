/** Deeper than any provider nests, and far from where a recursive reader of the same body (a schema, jsonb) gives up. */
const MAX_DEPTH = 512;

/** A run of digits this long may be an integer beyond 2^53. */
const LONG_NUMBER = /\d{16}/;

export type Parsed = { outcome: 'parsed'; json: unknown } | { outcome: 'malformed' };

/** Strict, and a byte order mark stays where it is: JSON text must not begin with one (RFC 8259, section 8.1). */
export function decodeText(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

/**
 * Reads an untrusted body. An integer that JavaScript would round arrives as its digits, in a string:
 * two ids must not become one, nor an amount another amount.
 */
export function parseJson(text: string): Parsed {
  if (tooDeep(text)) return { outcome: 'malformed' };
  try {
    return { outcome: 'parsed', json: LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text) };
  } catch {
    return { outcome: 'malformed' };
  }
}

/** JSON Lines as a list. An empty line is none. */
export function parseLines(text: string): Parsed {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const json = lines.map(parseJson).flatMap((parsed) => (parsed.outcome === 'parsed' ? [parsed.json] : []));
  return lines.length > 0 && json.length === lines.length ? { outcome: 'parsed', json } : { outcome: 'malformed' };
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const rounded = typeof value === 'number' && !Number.isSafeInteger(value);
  return rounded && /^-?\d+$/.test(context?.source ?? '') ? context?.source : value;
}

function tooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c /* \ */) i++;
      else if (char === 0x22 /* " */) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b /* { */ || char === 0x5b /* [ */) {
      if (++depth > MAX_DEPTH) return true;
    } else if (char === 0x7d /* } */ || char === 0x5d /* ] */) depth--;
  }
  return false;
}
