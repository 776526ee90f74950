import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { webhookEvents as ledger } from './schema.ts';

/**
 * Of these events, those that are still pending after their due time: their tickets may be lost.
 *
 * Whether a row is overdue is a column, not a condition: as a condition it invites the planner to use the index of due
 * events, and every question would then read the whole backlog.
 */
export async function findOverdue(
  db: Database,
  source: string,
  eventIds: readonly string[],
  now: Date,
): Promise<string[]> {
  const rows = await run<{ id: string; is_overdue: boolean }>(
    db,
    sql`
    select ${ledger.eventId} as id,
           ${ledger.status} = 'pending' and ${ledger.dueAt} <= ${now.toISOString()}::timestamptz as is_overdue
    from ${ledger} where ${ledger.source} = ${source} and ${ledger.eventId} = any(${sql.param(eventIds)}::text[])`,
  );
  return rows.filter((row) => row.is_overdue).map(({ id }) => id);
}
