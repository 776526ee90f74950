import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import type { EffectKey, EventKey } from './keys.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

export interface Overdue {
  readonly events: EventKey[];
  readonly effects: EffectKey[];
}

/** Events and effects taken in one statement: as many tickets as five calls of a queue hold. */
export const SWEEP_CHUNK = 500;

/** A ticket that was sent again gets at least until the next sweep. */
const FIRST_INTERVAL = '15 minutes';
/** An event that stays pending gets a ticket once a day, until an operator looks at it. */
const LAST_INTERVAL = '1 day';

const eventColumn = columnNames(events);
const effectColumn = columnNames(effects);

/**
 * Takes what is overdue, and sets when it is due next: after as long as it has been waiting already, so that the
 * intervals double, a backlog isn't multiplied by its own tickets, and one bad row doesn't block the others.
 * Two sweeps at once share the work: neither waits for a row that the other holds.
 */
export async function takeOverdue(db: Database, now: Date): Promise<Overdue> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const nextDue = (since: SQL) =>
    sql`${at} + least(greatest(${at} - ${since}, ${FIRST_INTERVAL}::interval), ${LAST_INTERVAL}::interval)`;
  const rows = await run<{ source: string; eventId: string; name: string | null }>(
    db,
    sql`
    with overdue_events as (
      select ${events.source} as source, ${events.eventId} as event_id from ${events}
      where ${events.status} = 'pending' and ${events.dueAt} <= ${at}
      order by ${events.dueAt} limit ${SWEEP_CHUNK} for update skip locked
    ),
    overdue_effects as (
      select ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name,
             coalesce(${events.finishedAt}, ${effects.dueAt}) as waiting_since
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'pending' and ${effects.dueAt} <= ${at}
      order by ${effects.dueAt} limit ${SWEEP_CHUNK} for update of ${effects} skip locked
    ),
    taken_events as (
      update ${events} set ${eventColumn.dueAt} = ${nextDue(sql`${events.receivedAt}`)}
      from overdue_events overdue
      where (${events.source}, ${events.eventId}) = (overdue.source, overdue.event_id)
      returning overdue.source, overdue.event_id
    ),
    taken_effects as (
      update ${effects} set ${effectColumn.dueAt} = ${nextDue(sql`overdue.waiting_since`)}
      from overdue_effects overdue
      where (${effects.source}, ${effects.eventId}, ${effects.name}) = (overdue.source, overdue.event_id, overdue.name)
      returning overdue.source, overdue.event_id, overdue.name
    )
    select source, event_id as "eventId", null as name from taken_events
    union all
    select source, event_id, name from taken_effects`,
  );
  const overdue: Overdue = { events: [], effects: [] };
  for (const { source, eventId, name } of rows) {
    if (name === null) overdue.events.push({ source, eventId });
    else overdue.effects.push({ source, eventId, name });
  }
  return overdue;
}
