import { getTableColumns, type Name, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

/**
 * The columns of a table by their names alone. Drizzle writes a column with its table in front, which Postgres refuses
 * in `set`, `insert into … ( )` and `using ( )`.
 */
export function columnNames<Table extends PgTable>(table: Table): Record<keyof Table['_']['columns'], Name> {
  const names = Object.entries(getTableColumns(table)).map(([key, { name }]) => [key, sql.identifier(name)]);
  return Object.fromEntries(names);
}
