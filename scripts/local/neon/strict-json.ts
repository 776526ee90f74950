import { isUtf8 } from 'node:buffer';
import { NeonError } from './neon-error.ts';

// Node 24 has it. TypeScript's library does not know it yet.
const { rawJSON } = JSON as JSON & { rawJSON(text: string): object };

const MIN_I64 = -(2n ** 63n);
const MAX_U64 = 2n ** 64n - 1n;

/**
 * Parses a request's body as strictly as Neon's proxy does, which is stricter than JSON.parse.
 *
 * A number becomes a raw JSON object that JSON.stringify writes as it was sent: a JavaScript number would lose the
 * digits of integers beyond 2^53.
 */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw unparsable('not UTF-8');
  try {
    return JSON.parse(body.toString('utf8'), reviver);
  } catch (error) {
    throw error instanceof SyntaxError ? unparsable(error.message) : error;
  }
}

export function unparsable(why: string): NeonError {
  return new NeonError(400, `could not parse the HTTP request body: ${why}`);
}

function reviver(key: string, value: unknown, context?: { source?: string }): unknown {
  // JSON can escape half a surrogate pair ("\ud800"), and JSON.parse accepts it. Rust strings can't hold it.
  for (const text of [key, value]) {
    if (typeof text === 'string' && !text.isWellFormed()) throw unparsable('lone surrogate in a string');
  }
  return typeof value === 'number' ? rawNumber(value, context?.source ?? '') : value;
}

function rawNumber(value: number, source: string): object {
  if (!Number.isFinite(value)) throw unparsable('number out of range');
  // The proxy keeps integers of up to 64 bits. Larger ones become floating-point numbers there.
  const integer = /^-?\d+$/.test(source) ? BigInt(source) : 0n;
  return rawJSON(integer < MIN_I64 || integer > MAX_U64 ? String(value) : source);
}

/** Parameters arrive as JSON. Postgres gets them as text. */
export function toText(value: unknown): string | null {
  if (value === null) return null;
  if (Array.isArray(value)) return `{${value.map(arrayItem).join(',')}}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function arrayItem(value: unknown): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return toText(value) ?? 'NULL';
  // An object becomes JSON in a quoted string.
  return JSON.stringify(typeof value === 'object' ? JSON.stringify(value) : value);
}
