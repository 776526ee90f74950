import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { type EventFilter, matches } from './filter.ts';

export interface Discarded extends Record<string, unknown> {
  readonly events: number;
  readonly effects: number;
}

/**
 * Gives parked events up, for a reason that is kept; they count as ignored, and their error stays readable.
 * A parked effect goes for good, and its event's summary says so.
 */
export async function discardParked(db: Database, filter: EventFilter, reason: string): Promise<Discarded> {
  const [row] = await run<Discarded>(
    db,
    sql`
    with events as (
      update webhook_events event set status = 'ignored', summary = ${`discarded: ${reason}`}
      where status = 'parked' and ${matches(filter)}
      returning 1
    ),
    effects as (
      delete from webhook_effects effect using webhook_events event
      where (effect.source, effect.event_id) = (event.source, event.event_id)
        and effect.status = 'parked' and ${matches(filter)}
      returning effect.source, effect.event_id, effect.name
    ),
    noted as (
      update webhook_events event
      set summary = concat_ws(', ', event.summary, 'discarded ' || gone.names || ': ' || ${reason}::text)
      from (select source, event_id, string_agg(name, ', ') as names from effects group by 1, 2) as gone
      where (event.source, event.event_id) = (gone.source, gone.event_id)
    )
    select (select count(*)::int from events) as events, (select count(*)::int from effects) as effects`,
  );
  return row ?? { events: 0, effects: 0 };
}
