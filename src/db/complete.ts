import { sql } from 'drizzle-orm';
import { commit, type Database, type Statement } from './client.ts';
import type { EventKey } from './keys.ts';

export interface Completion extends EventKey {
  readonly status: 'done' | 'ignored';
  readonly summary: string;
  readonly changes: readonly Statement[];
}

/**
 * Two groups whose changes lock the same rows in opposite orders wait for each other. Postgres would notice after a
 * second (deadlock_timeout, which only a superuser may set); a group gives up sooner, and its events go on alone.
 */
const GROUP_LOCK_TIMEOUT = '250ms';

/**
 * Commits the work of events and their completions together: all of it, or nothing.
 *
 * The completions come first, so that a second run fails before it changes anything. An event that is no longer
 * pending (done by another consumer, parked or discarded meanwhile) breaks `completed_at_most_once` just the same.
 * Rows are locked in the order of their keys: two batches that share events can't deadlock over them.
 */
export async function complete(db: Database, events: readonly Completion[], now: Date): Promise<void> {
  const column = (read: (event: Completion) => string) => sql.param(events.map(read));
  const completions = db.execute(sql`
    with finished as (
      select source, event_id, finished.status, finished.summary
      from unnest(${column((event) => event.source)}::text[], ${column((event) => event.eventId)}::text[],
                  ${column((event) => event.status)}::text[], ${column((event) => event.summary)}::text[])
        as finished (source, event_id, status, summary)
      join webhook_events using (source, event_id)
      order by source, event_id for update of webhook_events
    )
    update webhook_events event set
      completions = completions + case when event.status = 'pending' then 1 else 2 end,
      status = finished.status,
      summary = finished.summary,
      finished_at = ${now.toISOString()}::timestamptz,
      attempts = attempts + 1,
      last_error = null
    from finished where (event.source, event.event_id) = (finished.source, finished.event_id)`);
  const changes = events.flatMap((event) => event.changes);
  if (events.length === 1) return commit(db, [completions, ...changes]);
  const limit = db.execute(sql`select set_config('lock_timeout', ${GROUP_LOCK_TIMEOUT}, true)`);
  return commit(db, [limit, completions, ...changes]);
}
