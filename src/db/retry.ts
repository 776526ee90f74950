import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EventFilter, matches } from './filter.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

export interface Retried extends Record<string, unknown> {
  readonly events: number;
  readonly effects: number;
}

const eventColumn = columnNames(events);
const effectColumn = columnNames(effects);

/** Gives parked events, and parked effects, all their attempts back. The next sweep sends their tickets. */
export async function retryParked(db: Database, filter: EventFilter, now: Date): Promise<Retried> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const [row] = await run<Retried>(
    db,
    sql`
    with retried_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.attempts} = 0, ${eventColumn.dueAt} = ${at},
        ${eventColumn.notBefore} = null, ${eventColumn.finishedAt} = null
      where ${events.status} = 'parked' and ${matches(filter)}
      returning 1
    ),
    retried_effects as (
      update ${effects} set
        ${effectColumn.status} = 'pending', ${effectColumn.attempts} = 0, ${effectColumn.dueAt} = ${at}
      from ${events}
      where (${effects.source}, ${effects.eventId}) = (${events.source}, ${events.eventId})
        and ${effects.status} = 'parked' and ${matches(filter)}
      returning 1
    )
    select (select count(*)::int from retried_events) as events, (select count(*)::int from retried_effects) as effects`,
  );
  return row ?? { events: 0, effects: 0 };
}
