import { sql } from 'drizzle-orm';
import type { Database } from './client.ts';
import { columnNames } from './columns.ts';
import { checkedTarget, noteAction, type Operated, type Operation, operate, parkedTarget } from './operate.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

const eventColumn = columnNames(events);
const effectColumn = columnNames(effects);

/** Gives parked events, and parked effects, all their attempts back. Their tickets are for the caller to send. */
export async function retryParked(db: Database, { filter, action, expected }: Operation): Promise<Operated> {
  const at = sql`${action.at.toISOString()}::timestamptz`;
  return operate(
    db,
    sql`${parkedTarget(filter)}, ${checkedTarget(expected)},
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.attempts} = 0, ${eventColumn.dueAt} = ${at},
        ${eventColumn.notBefore} = null, ${eventColumn.finishedAt} = null, ${noteAction(action)}
      from parked_events, checked
      where as_expected and (${events.source}, ${events.eventId}) = (parked_events.source, parked_events.event_id)
      returning ${events.source} as source, ${events.eventId} as event_id
    ),
    changed_effects as (
      update ${effects} set
        ${effectColumn.status} = 'pending', ${effectColumn.attempts} = 0, ${effectColumn.dueAt} = ${at}
      from parked_effects, checked
      where as_expected
        and (${effects.source}, ${effects.eventId}, ${effects.name})
          = (parked_effects.source, parked_effects.event_id, parked_effects.name)
      returning ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name
    ),
    noted as (
      update ${events} set ${noteAction(action)}
      from (select * from target except select * from parked_events) as only_effects, checked
      where as_expected and (${events.source}, ${events.eventId}) = (only_effects.source, only_effects.event_id)
    )`,
  );
}
