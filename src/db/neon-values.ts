/** An answer of Neon, as far as we read it: every value as Postgres writes it, or null. */
export interface NeonAnswer {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** The types that our statements return besides text. Their numbers are fixed: they are those of the catalog (pg_type.dat). */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (bool) => bool === 't',
  23: Number,
  701: Number,
  114: JSON.parse,
  3802: JSON.parse,
  // An array of integers is written like a list in JSON, with other brackets.
  1007: (list) => JSON.parse(`[${list.slice(1, -1)}]`),
};

export function parseRows<Row extends object>({ fields, rows }: NeonAnswer): Row[] {
  const parsers = fields.map(({ dataTypeID }) => PARSERS[dataTypeID]);
  const parse = (text: string | null, n: number) => (text === null ? null : (parsers[n]?.(text) ?? text));
  return rows.map((row) => Object.fromEntries(row.map((text, n) => [fields[n]?.name, parse(text, n)]))) as Row[];
}

/** A parameter as Neon takes it, converted as node-postgres does: a statement of yours may hold a value of any kind. */
export function toParam(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(arrayItem).join()}}`;
  if (ArrayBuffer.isView(value)) return bytea(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function arrayItem(item: unknown): string {
  if (Array.isArray(item)) return toParam(item) ?? 'NULL';
  const text = toParam(item);
  return text === null ? 'NULL' : quoted(text);
}

/**
 * In a list of Postgres, only quotes and backslashes are escaped. `JSON.stringify` does this several times faster, but it
 * also escapes control characters and lone surrogates, and Postgres would read `\n` as the letter n.
 */
function quoted(text: string): string {
  if (!/\p{Cc}/u.test(text) && text.isWellFormed()) return JSON.stringify(text);
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function bytea({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return `\\x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
