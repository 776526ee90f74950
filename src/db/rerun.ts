import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EventFilter, matches } from './filter.ts';
import { webhookBodies as bodies, webhookEffects as effects, webhookEvents as events } from './schema.ts';

export interface Rerun extends Record<string, unknown> {
  readonly events: number;
  /** Finished events that can't run again, because their bodies have been pruned. */
  readonly withoutBody: number;
}

const eventColumn = columnNames(events);

/**
 * Makes finished events pending, so that their handlers run once more: their changes are made a second time.
 * Effects that were enqueued before stay as they are, and the rerun can't add them again. With `effects` they are
 * deleted first, and sent again with the same idempotency keys as before.
 */
export async function rerunFinished(
  db: Database,
  filter: EventFilter,
  { effects: sendEffectsAgain, now }: { effects: boolean; now: Date },
): Promise<Rerun> {
  const [row] = await run<Rerun>(
    db,
    sql`
    with finished as (
      select ${events.source} as source, ${events.eventId} as event_id, ${bodies.source} is not null as has_body
      from ${events} left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${events.source}, ${events.eventId})
      -- Discarded events are ignored as well, but were never completed: they stay discarded.
      where ${events.status} in ('done', 'ignored') and ${events.completions} = 1 and ${matches(filter)}
      for update of ${events}
    ),
    deleted_effects as (
      delete from ${effects} using finished
      where ${sendEffectsAgain} and has_body
        and (${effects.source}, ${effects.eventId}) = (finished.source, finished.event_id)
    ),
    opened_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.completions} = 0, ${eventColumn.attempts} = 0,
        ${eventColumn.dueAt} = ${now.toISOString()}::timestamptz, ${eventColumn.notBefore} = null, ${eventColumn.finishedAt} = null,
        ${eventColumn.summary} = null, ${eventColumn.lastError} = null
      from finished
      where has_body and (${events.source}, ${events.eventId}) = (finished.source, finished.event_id)
    )
    select count(*) filter (where has_body)::int as events, count(*) filter (where not has_body)::int as "withoutBody"
    from finished`,
  );
  return row ?? { events: 0, withoutBody: 0 };
}
