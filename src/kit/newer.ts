import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/**
 * For the `setWhere` of an upsert: overwrite the row only with something newer. Events may arrive in any order. Two events
 * of the same moment are compared by their ids, so that every order ends with the same row.
 */
export function newer(changedAt: PgColumn, changedBy: PgColumn): SQL {
  const incoming = (column: PgColumn) => sql`excluded.${sql.identifier(column.name)}`;
  return sql`(${incoming(changedAt)}, ${incoming(changedBy)}) > (${changedAt}, ${changedBy})`;
}
