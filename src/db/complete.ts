import { type SQL, sql } from 'drizzle-orm';
import { commit, type Database, type Statement } from './client.ts';
import { columnNames } from './columns.ts';
import type { EventKey } from './keys.ts';
import { webhookEvents as events } from './schema.ts';

export interface Completion extends EventKey {
  readonly status: 'done' | 'ignored';
  readonly summary: string;
  readonly changes: readonly (Statement | SQL)[];
}

/**
 * Two groups whose changes lock the same rows in opposite orders wait for each other. Postgres would notice after a
 * second (deadlock_timeout, which only a superuser may set). A group gives up sooner, and its events are committed alone.
 */
const GROUP_LOCK_TIMEOUT = '250ms';

const eventColumn = columnNames(events);

/**
 * Commits the work of events and their completions together: all of it, or nothing.
 *
 * The completions come first, so that a second run fails before it changes anything. An event that is no longer
 * pending (done by another consumer, parked or discarded meanwhile) breaks `completed_at_most_once` in the same way.
 * Rows are locked in the order of their keys: two batches that share events can't deadlock over them.
 */
export async function complete(db: Database, completed: readonly Completion[], now: Date): Promise<void> {
  const column = (read: (event: Completion) => string) => sql.param(completed.map(read));
  const completions = sql`
    with finished as (
      select ${events.source} as source, ${events.eventId} as event_id, given.status, given.summary
      from unnest(${column(({ source }) => source)}::text[], ${column(({ eventId }) => eventId)}::text[],
                  ${column(({ status }) => status)}::text[], ${column(({ summary }) => summary)}::text[])
        as given (source, event_id, status, summary)
      join ${events} on (${events.source}, ${events.eventId}) = (given.source, given.event_id)
      order by ${events.source}, ${events.eventId} for update of ${events}
    )
    update ${events} set
      ${eventColumn.completions} = ${events.completions} + case when ${events.status} = 'pending' then 1 else 2 end,
      ${eventColumn.status} = finished.status,
      ${eventColumn.summary} = finished.summary,
      ${eventColumn.finishedAt} = ${now.toISOString()}::timestamptz,
      ${eventColumn.attempts} = ${events.attempts} + 1,
      ${eventColumn.lastError} = null
    from finished where (${events.source}, ${events.eventId}) = (finished.source, finished.event_id)`;
  const changes = completed.flatMap((event) => event.changes);
  if (completed.length === 1) return commit(db, [completions, ...changes]);
  const limit = sql`select set_config('lock_timeout', ${GROUP_LOCK_TIMEOUT}, true)`;
  return commit(db, [limit, completions, ...changes]);
}
