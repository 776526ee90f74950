import { fillPlaceholders, getTableColumns, getTableName, type Name, type SQL, sql } from 'drizzle-orm';
import { CasingCache } from 'drizzle-orm/casing';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { EffectKey, EventKey } from './keys.ts';

/** A statement's text and the values of its parameters. */
export interface Query {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/**
 * Writes names and parameters as Drizzle's Postgres dialect does. Importing the dialect would bundle all query
 * builders.
 */
const POSTGRES = {
  casing: new CasingCache(),
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: (index: number) => `$${index + 1}`,
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
};

/** The text and parameters of one of the engine's sql`…` statements. */
export function textOf(statement: SQL): Query {
  return statement.toQuery(POSTGRES);
}

/**
 * For statements on the hot path. Their text is built once per isolate, because building it takes longer than the rest
 * of a delivery. Each request only fills the placeholders, `sql.placeholder('name')`.
 */
export function builtOnce<Values extends Record<string, unknown>>(statement: SQL): (values: Values) => Query {
  const { sql: text, params } = textOf(statement);
  return (values) => ({ sql: text, params: fillPlaceholders([...params], values) });
}

/**
 * The columns of a table as plain names. Drizzle writes a column with its table, which Postgres refuses in `set`,
 * `insert into … ( )` and `using ( )`.
 */
export function columnNames<Table extends PgTable>(table: Table): Record<keyof Table['_']['columns'], Name> {
  const names = Object.entries(getTableColumns(table)).map(([key, { name }]) => [key, sql.identifier(name)]);
  return Object.fromEntries(names);
}

/** A table's name for `for update of`, which doesn't accept a schema. */
export function lockName(table: PgTable): Name {
  return sql.identifier(getTableName(table));
}

/** A time as a parameter. */
export function at(time: Date): SQL {
  return sql`${time.toISOString()}::timestamptz`;
}

/** Converts a time from Postgres's format, `2026-03-01 12:00:00+00`. */
export function isoOf(time: string): string;
export function isoOf(time: string | null): string | null;
export function isoOf(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Converts these times of a row with `isoOf`. */
export function isoTimes<Row extends object>(row: Row, ...names: readonly (keyof Row)[]): Row {
  const times = names.map((name) => [name, isoOf(row[name] as string | null)]);
  return { ...row, ...Object.fromEntries(times) };
}

/** The columns of `rowsOf`: the name, the type, and the value of each for a row. */
type Columns<Row> = Readonly<Record<string, readonly [type: string, read: (row: Row) => unknown]>>;

/** Rows as a table with this name, for `from`. Each column is one parameter, a list of its values. */
export function rowsOf<Row>(name: string, rows: readonly Row[], columns: Columns<Row>): SQL {
  const lists = Object.values(columns).map(([type, read]) => sql`${sql.param(rows.map(read))}::${sql.raw(type)}[]`);
  const names = Object.keys(columns).map((column) => sql.identifier(column));
  return sql`unnest(${sql.join(lists, sql`, `)}) as ${sql.identifier(name)} (${sql.join(names, sql`, `)})`;
}

/** The columns of an event's key, for `rowsOf`. */
export const EVENT_KEY = {
  source: ['text', ({ source }) => source],
  event_id: ['text', ({ eventId }) => eventId],
} as const satisfies Columns<EventKey>;
export const EFFECT_KEY = {
  ...EVENT_KEY,
  name: ['text', ({ name }) => name],
} as const satisfies Columns<EffectKey>;
