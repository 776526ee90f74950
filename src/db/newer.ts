import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/**
 * For an upsert's `setWhere`: write only where the incoming row is newer than the one that stands. Events come in any
 * order; two of the same moment are told apart by their ids, so that every order ends in the same row.
 */
export function newer(changedAt: PgColumn, changedBy: PgColumn): SQL {
  const incoming = (column: PgColumn) => sql`excluded.${sql.identifier(column.name)}`;
  return sql`(${incoming(changedAt)}, ${incoming(changedBy)}) > (${changedAt}, ${changedBy})`;
}
