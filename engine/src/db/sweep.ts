// What the cron does to the tables: it takes what is overdue, and deletes what is old.
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import type { EffectKey, EventKey } from './keys.ts';
import { FIRST_IN_LINE } from './order.ts';
import { type PauseSeconds, waitsForOthers } from './pauses.ts';
import { bodies, cancellations, effects, events, itsEvent, orderKeys, TICKET_GRACE_MS } from './schema.ts';
import { at, columnNames, lockName } from './sql.ts';

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
export async function takeOverdue(
  db: Database,
  now: Date,
  patience: PauseSeconds = { usual: 0, kinds: [] },
): Promise<{ readonly events: EventKey[]; readonly effects: EffectKey[] }> {
  const nextDue = (since: SQL) =>
    sql`${at(now)} + least(greatest(${at(now)} - ${since}, ${FIRST_INTERVAL}::interval), ${LAST_INTERVAL}::interval)`;
  const rows = await run<EventKey & { readonly name: string | null }>(
    db,
    sql`
    with recursive ${FIRST_IN_LINE},
    -- Of events with an order key only the first of each: the others wait for it.
    overdue_lines as (
      select source, event_id from first_in_line where status = 'pending' and due_at <= ${at(now)} limit ${SWEEP_CHUNK}
    ),
    overdue_keyed as (
      select ${events.source} as source, ${events.eventId} as event_id
      from overdue_lines line join ${events} on (${events.source}, ${events.eventId}) = (line.source, line.event_id)
      where ${events.status} = 'pending' and ${events.dueAt} <= ${at(now)}
      for update of ${lockName(events)} skip locked
    ),
    overdue_unkeyed as (
      select ${events.source} as source, ${events.eventId} as event_id from ${events}
      where ${events.status} = 'pending' and ${events.dueAt} <= ${at(now)} and ${events.orderKey} is null
      order by ${events.dueAt} limit ${SWEEP_CHUNK} for update skip locked
    ),
    overdue_events as (select * from overdue_keyed union all select * from overdue_unkeyed),
    overdue_effects as (
      select ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name,
             coalesce(${effects.sendAt}, ${events.finishedAt}, ${effects.dueAt}) as waiting_since,
             ${effects.sendAt} + ${`${TICKET_GRACE_MS} milliseconds`}::interval as not_before
      from ${effects} join ${events} on ${itsEvent}
      where ${effects.status} = 'pending' and ${effects.dueAt} <= ${at(now)} and not ${waitsForOthers(now, patience)}
      order by ${effects.dueAt} limit ${SWEEP_CHUNK} for update of ${lockName(effects)} skip locked
    ),
    taken_events as (
      update ${events} set ${eventColumn.dueAt} = ${nextDue(sql`${events.receivedAt}`)}
      from overdue_events overdue
      where (${events.source}, ${events.eventId}) = (overdue.source, overdue.event_id)
      returning overdue.source, overdue.event_id
    ),
    taken_effects as (
      -- The ticket of an effect that is for later waits in the queue: a second one could send it twice.
      update ${effects} set ${effectColumn.dueAt} = greatest(${nextDue(sql`overdue.waiting_since`)}, overdue.not_before)
      from overdue_effects overdue
      where (${effects.source}, ${effects.eventId}, ${effects.name}) = (overdue.source, overdue.event_id, overdue.name)
      returning overdue.source, overdue.event_id, overdue.name
    )
    select source, event_id as "eventId", null as name from taken_events
    union all
    select source, event_id, name from taken_effects`,
  );
  return {
    events: rows.filter(({ name }) => name === null).map(({ source, eventId }) => ({ source, eventId })),
    effects: rows.flatMap(({ source, eventId, name }) => (name === null ? [] : { source, eventId, name })),
  };
}

const DAY_MS = 86_400_000;

/** Rows deleted in one statement: they are locked for a few hundred milliseconds, however many there are to delete. */
export const PRUNE_CHUNK = 1000;

/**
 * An event that is finished keeps its row for longer than any run that loaded it before may go on: a consumer is stopped
 * after 15 minutes, a statement that it has sent after 15 s, and the clocks of two Workers differ by seconds. The age by
 * `received_at` says nothing about this: an event that was parked for a month, and then retried, is old when it finishes.
 */
const LONGEST_RUN_MS = 3_600_000;

/** No suspected replay that is still undecided has the body of this event. */
const isBodyFree = sql`not exists (
        select from ${events} as other where (other.source, other.body_of) = (${events.source}, ${events.eventId})
          and other.status in ('pending', 'parked'))`;

/**
 * Deletes keys and cancellations older than `dedupeDays` and bodies older than `bodyDays`, a chunk of each.
 * What is pending or parked stays, and so does an event that still has an effect to send, or has finished just now.
 * The oldest go first: both tables have an index in this order, so a chunk reads little more than it deletes.
 */
export async function prune(
  db: Database,
  now: Date,
  dedupeDays: number,
  bodyDays: number,
): Promise<{ readonly events: number; readonly bodies: number }> {
  const before = (days: number) => at(new Date(now.getTime() - days * DAY_MS));
  const [row] = await run<{ events: number; bodies: number }>(
    db,
    sql`
    with old_events as (
      select ${events.source}, ${events.eventId} from ${events}
      where ${events.receivedAt} < ${before(dedupeDays)} and ${events.status} in ('done', 'ignored')
        and ${events.finishedAt} < ${at(new Date(now.getTime() - LONGEST_RUN_MS))}
        and not exists (
          select from ${effects} where ${itsEvent} and ${effects.status} in ('pending', 'parked'))
        and ${isBodyFree}
      order by ${events.receivedAt} limit ${PRUNE_CHUNK} for update skip locked
    ),
    old_bodies as (
      select ${bodies.source}, ${bodies.eventId} from ${bodies}
      join ${events} on (${events.source}, ${events.eventId}) = (${bodies.source}, ${bodies.eventId})
      where ${bodies.receivedAt} < ${before(bodyDays)}
        and ${events.status} in ('done', 'ignored') and ${events.finishedAt} < ${before(bodyDays)} and ${isBodyFree}
      -- Not of the bodies too: a lock needs the right to update, and no Worker may update a body.
      order by ${bodies.receivedAt} limit ${PRUNE_CHUNK} for update of ${lockName(events)} skip locked
    ),
    pruned_events as (
      delete from ${events} where (${events.source}, ${events.eventId}) in (select * from old_events)
      returning ${events.source} as source, ${events.eventId} as event_id, ${events.orderKey} as order_key
    ),
    -- Forgets the order keys of deleted events. If an older event of such a key is run again, it is not late.
    pruned_keys as (
      delete from ${orderKeys} using pruned_events pruned
      where (${orderKeys.source}, ${orderKeys.orderKey}, ${orderKeys.eventId}) = (pruned.source, pruned.order_key, pruned.event_id)
    ),
    -- As long as an effect that isn't sent has the key, its mark stays.
    old_cancellations as (
      select ${cancellations.source}, ${cancellations.kind}, ${cancellations.cancelKey} from ${cancellations}
      where ${cancellations.cancelledAt} < ${before(dedupeDays)} and not exists (
        select from ${effects}
        where (${effects.source}, ${effects.kind}, ${effects.cancelKey})
            = (${cancellations.source}, ${cancellations.kind}, ${cancellations.cancelKey})
          and ${effects.status} in ('pending', 'parked'))
      order by ${cancellations.cancelledAt} limit ${PRUNE_CHUNK}
    ),
    pruned_cancellations as (
      delete from ${cancellations}
      where (${cancellations.source}, ${cancellations.kind}, ${cancellations.cancelKey}) in (select * from old_cancellations)
    ),
    pruned_bodies as (
      delete from ${bodies} where (${bodies.source}, ${bodies.eventId}) in (select * from old_bodies) returning 1
    )
    select (select count(*)::int from pruned_events) as events, (select count(*)::int from pruned_bodies) as bodies`,
  );
  return row ?? { events: 0, bodies: 0 };
}
