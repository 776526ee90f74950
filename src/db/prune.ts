import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { webhookBodies as bodies, webhookEffects as effects, webhookEvents as events } from './schema.ts';

const DAY_MS = 86_400_000;

/** Rows deleted in one statement: they are locked for a few hundred milliseconds, however many there are to delete. */
export const PRUNE_CHUNK = 1000;

/**
 * Deletes keys older than `dedupeDays` and bodies older than `bodyDays`, a chunk of each.
 * What is pending or parked stays, and so does an event that still has an effect to send.
 * The oldest go first: both tables have an index in this order, so a chunk reads little more than it deletes.
 */
export async function prune(db: Database, now: Date, dedupeDays: number, bodyDays: number): Promise<Pruned> {
  const before = (days: number) => sql`${new Date(now.getTime() - days * DAY_MS).toISOString()}::timestamptz`;
  const [row] = await run<Pruned>(
    db,
    sql`
    with old_events as (
      select ${events.source}, ${events.eventId} from ${events}
      where ${events.receivedAt} < ${before(dedupeDays)} and ${events.status} in ('done', 'ignored')
        and not exists (
          select from ${effects}
          where (${effects.source}, ${effects.eventId}) = (${events.source}, ${events.eventId})
            and ${effects.status} <> 'sent')
      order by ${events.receivedAt} limit ${PRUNE_CHUNK} for update skip locked
    ),
    old_bodies as (
      select ${bodies.source}, ${bodies.eventId} from ${bodies}
      join ${events} on (${events.source}, ${events.eventId}) = (${bodies.source}, ${bodies.eventId})
      where ${bodies.receivedAt} < ${before(bodyDays)}
        and ${events.status} in ('done', 'ignored') and ${events.finishedAt} < ${before(bodyDays)}
      -- Not of the bodies too: a lock needs the right to update, and no Worker may update a body.
      order by ${bodies.receivedAt} limit ${PRUNE_CHUNK} for update of ${events} skip locked
    ),
    pruned_events as (
      delete from ${events} where (${events.source}, ${events.eventId}) in (select * from old_events) returning 1
    ),
    pruned_bodies as (
      delete from ${bodies} where (${bodies.source}, ${bodies.eventId}) in (select * from old_bodies) returning 1
    )
    select (select count(*)::int from pruned_events) as events, (select count(*)::int from pruned_bodies) as bodies`,
  );
  return row ?? { events: 0, bodies: 0 };
}

export interface Pruned extends Record<string, unknown> {
  readonly events: number;
  readonly bodies: number;
}
