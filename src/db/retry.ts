import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { type EventFilter, matches } from './filter.ts';

export interface Retried extends Record<string, unknown> {
  readonly events: number;
  readonly effects: number;
}

/** Gives parked events, and parked effects, all their attempts back. The next sweep sends their tickets. */
export async function retryParked(db: Database, filter: EventFilter, now: Date): Promise<Retried> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const [row] = await run<Retried>(
    db,
    sql`
    with events as (
      update webhook_events event set status = 'pending', attempts = 0, due_at = ${at}, not_before = null, finished_at = null
      where status = 'parked' and ${matches(filter)}
      returning 1
    ),
    effects as (
      update webhook_effects effect set status = 'pending', attempts = 0, due_at = ${at}
      from webhook_events event
      where (effect.source, effect.event_id) = (event.source, event.event_id)
        and effect.status = 'parked' and ${matches(filter)}
      returning 1
    )
    select (select count(*)::int from events) as events, (select count(*)::int from effects) as effects`,
  );
  return row ?? { events: 0, effects: 0 };
}
