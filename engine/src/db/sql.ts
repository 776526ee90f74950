import { fillPlaceholders, getTableColumns, getTableName, type Name, type SQL, sql } from 'drizzle-orm';
import { CasingCache } from 'drizzle-orm/casing';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { EffectKey, EventKey } from './keys.ts';

/** A statement as it is sent: its text, and the values of its parameters. */
export interface Query {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** How Drizzle's own dialect writes names and parameters for Postgres. The dialect itself would bring all query builders along. */
const POSTGRES = {
  casing: new CasingCache(),
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: (index: number) => `$${index + 1}`,
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
};

/** Text and parameters of an sql`…` of ours. */
export function textOf(statement: SQL): Query {
  return statement.toQuery(POSTGRES);
}

/**
 * For the statements of the hot path: their text is built once per isolate, because Drizzle takes longer to build it than
 * a Worker needs for the rest of a delivery. For each request only its placeholders, `sql.placeholder('name')`, are filled.
 */
export function builtOnce<Values extends Record<string, unknown>>(statement: SQL): (values: Values) => Query {
  const { sql: text, params } = textOf(statement);
  return (values) => ({ sql: text, params: fillPlaceholders([...params], values) });
}

/**
 * The columns of a table by their names alone. Drizzle writes a column with its table in front, which Postgres refuses
 * in `set`, `insert into … ( )` and `using ( )`.
 */
export function columnNames<Table extends PgTable>(table: Table): Record<keyof Table['_']['columns'], Name> {
  const names = Object.entries(getTableColumns(table)).map(([key, { name }]) => [key, sql.identifier(name)]);
  return Object.fromEntries(names);
}

/** For `for update of`, which takes no schema. */
export function lockName(table: PgTable): Name {
  return sql.identifier(getTableName(table));
}

/** A time as a parameter. */
export function at(time: Date): SQL {
  return sql`${time.toISOString()}::timestamptz`;
}

/** Postgres writes `2026-03-01 12:00:00+00`. */
export function isoOf(time: string): string;
export function isoOf(time: string | null): string | null;
export function isoOf(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** The row with these of its times as `isoOf` writes them. */
export function isoTimes<Row extends object>(row: Row, ...names: readonly (keyof Row)[]): Row {
  const times = names.map((name) => [name, isoOf(row[name] as string | null)]);
  return { ...row, ...Object.fromEntries(times) };
}

/** The columns of `rowsOf`: the name of each, its type, and what a row has in it. */
type Columns<Row> = Readonly<Record<string, readonly [type: string, read: (row: Row) => unknown]>>;

/** Rows as a table with this name, for `from`. Each column is a parameter: a list of its values in all rows. */
export function rowsOf<Row>(name: string, rows: readonly Row[], columns: Columns<Row>): SQL {
  const lists = Object.values(columns).map(([type, read]) => sql`${sql.param(rows.map(read))}::${sql.raw(type)}[]`);
  const names = Object.keys(columns).map((column) => sql.identifier(column));
  return sql`unnest(${sql.join(lists, sql`, `)}) as ${sql.identifier(name)} (${sql.join(names, sql`, `)})`;
}

/** The columns of a key, for `rowsOf`. */
export const EVENT_KEY = {
  source: ['text', ({ source }) => source],
  event_id: ['text', ({ eventId }) => eventId],
} as const satisfies Columns<EventKey>;
export const EFFECT_KEY = {
  ...EVENT_KEY,
  name: ['text', ({ name }) => name],
} as const satisfies Columns<EffectKey>;
