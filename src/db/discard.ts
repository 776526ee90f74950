import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EventFilter, matches } from './filter.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

export interface Discarded extends Record<string, unknown> {
  readonly events: number;
  readonly effects: number;
}

const eventColumn = columnNames(events);

/**
 * Discards parked events for a reason, which is kept. They become ignored, and their error stays readable.
 * A parked effect is deleted, and its event's summary says so.
 */
export async function discardParked(db: Database, filter: EventFilter, reason: string): Promise<Discarded> {
  const [row] = await run<Discarded>(
    db,
    sql`
    with discarded_events as (
      update ${events} set ${eventColumn.status} = 'ignored', ${eventColumn.summary} = ${`discarded: ${reason}`}
      where ${events.status} = 'parked' and ${matches(filter)}
      returning 1
    ),
    discarded_effects as (
      delete from ${effects} using ${events}
      where (${effects.source}, ${effects.eventId}) = (${events.source}, ${events.eventId})
        and ${effects.status} = 'parked' and ${matches(filter)}
      returning ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name
    ),
    noted as (
      update ${events}
      set ${eventColumn.summary} = concat_ws(', ', ${events.summary}, 'discarded ' || gone.names || ': ' || ${reason}::text)
      from (select source, event_id, string_agg(name, ', ') as names from discarded_effects group by 1, 2) as gone
      where (${events.source}, ${events.eventId}) = (gone.source, gone.event_id)
    )
    select (select count(*)::int from discarded_events) as events,
           (select count(*)::int from discarded_effects) as effects`,
  );
  return row ?? { events: 0, effects: 0 };
}
