import { sql } from 'drizzle-orm';
import type { Database } from './client.ts';
import { columnNames } from './columns.ts';
import { checkedTarget, noteAction, type Operated, type Operation, operate, parkedTarget } from './operate.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

const eventColumn = columnNames(events);

/**
 * Discards parked events for a reason, which is kept. They become ignored, and their error stays readable.
 * A parked effect is deleted, and its event's summary says so.
 */
export async function discardParked(
  db: Database,
  { filter, action, expected }: Operation & { readonly action: { readonly reason: string } },
): Promise<Operated> {
  return operate(
    db,
    sql`${parkedTarget(filter)}, ${checkedTarget(expected)},
    changed_effects as (
      delete from ${effects} using parked_effects, checked
      where as_expected
        and (${effects.source}, ${effects.eventId}, ${effects.name})
          = (parked_effects.source, parked_effects.event_id, parked_effects.name)
      returning ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name
    ),
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'ignored', ${eventColumn.summary} = ${`discarded: ${action.reason}`},
        ${noteAction(action)}
      from parked_events, checked
      where as_expected and (${events.source}, ${events.eventId}) = (parked_events.source, parked_events.event_id)
      returning ${events.source} as source, ${events.eventId} as event_id
    ),
    noted as (
      update ${events} set
        ${eventColumn.summary} = concat_ws(', ', ${events.summary}, 'discarded ' || gone.names || ': ' || ${action.reason}::text),
        ${noteAction(action)}
      from (
        select source, event_id, string_agg(name, ', ') as names from changed_effects
        where (source, event_id) not in (select * from parked_events) group by 1, 2
      ) as gone
      where (${events.source}, ${events.eventId}) = (gone.source, gone.event_id)
    )`,
  );
}
