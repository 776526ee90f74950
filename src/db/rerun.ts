import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { type EventFilter, matches } from './filter.ts';

export interface Rerun extends Record<string, unknown> {
  readonly events: number;
  /** Finished events whose bodies have been pruned: there is nothing left to run. */
  readonly withoutBody: number;
}

/**
 * Opens finished events again, so that their handlers run once more: their changes are made a second time.
 * Effects that were enqueued before stay as they are, and the rerun can't add them again; with `effects` they are
 * forgotten first, and sent again, with the same idempotency keys as before.
 */
export async function rerunFinished(
  db: Database,
  filter: EventFilter,
  { effects, now }: { effects: boolean; now: Date },
): Promise<Rerun> {
  const [row] = await run<Rerun>(
    db,
    sql`
    with finished as (
      select event.source, event.event_id, kept.source is not null as has_body
      from webhook_events event left join webhook_bodies kept using (source, event_id)
      -- Discarded events are ignored as well, but were never completed: they stay discarded.
      where status in ('done', 'ignored') and completions = 1 and ${matches(filter)}
      for update of event
    ),
    forgotten as (
      delete from webhook_effects effect using finished
      where ${effects} and has_body and (effect.source, effect.event_id) = (finished.source, finished.event_id)
    ),
    opened as (
      update webhook_events event set
        status = 'pending', completions = 0, attempts = 0, due_at = ${now.toISOString()}::timestamptz,
        not_before = null, finished_at = null, summary = null, last_error = null
      from finished
      where has_body and (event.source, event.event_id) = (finished.source, finished.event_id)
    )
    select count(*) filter (where has_body)::int as events, count(*) filter (where not has_body)::int as "withoutBody"
    from finished`,
  );
  return row ?? { events: 0, withoutBody: 0 };
}
