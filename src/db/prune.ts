import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';

const DAY_MS = 86_400_000;

/** Rows deleted in one statement: a few hundred milliseconds of locks, whatever has piled up. */
export const PRUNE_CHUNK = 1000;

/**
 * Forgets keys older than `dedupeDays` and bodies older than `bodyDays`, a chunk of each.
 * What is pending or parked stays, and so does an event that still has an effect to send.
 * Both find their rows by the time of receipt, where an index stands: what is old and still there is little.
 */
export async function prune(db: Database, now: Date, dedupeDays: number, bodyDays: number): Promise<Pruned> {
  const before = (days: number) => sql`${new Date(now.getTime() - days * DAY_MS).toISOString()}::timestamptz`;
  const [row] = await run<Pruned>(
    db,
    sql`
    with forgotten as (
      delete from webhook_events where (source, event_id) in (
        select source, event_id from webhook_events event
        where received_at < ${before(dedupeDays)} and status in ('done', 'ignored')
          and not exists (
            select from webhook_effects effect
            where effect.source = event.source and effect.event_id = event.event_id and effect.status <> 'sent')
        limit ${PRUNE_CHUNK} for update skip locked)
      returning 1
    ),
    cleared as (
      delete from webhook_bodies where (source, event_id) in (
        select source, event_id from webhook_bodies body
        join webhook_events event using (source, event_id)
        where body.received_at < ${before(bodyDays)}
          and event.status in ('done', 'ignored') and event.finished_at < ${before(bodyDays)}
        limit ${PRUNE_CHUNK} for update skip locked)
      returning 1
    )
    select (select count(*)::int from forgotten) as events, (select count(*)::int from cleared) as bodies`,
  );
  return row ?? { events: 0, bodies: 0 };
}

export interface Pruned extends Record<string, unknown> {
  readonly events: number;
  readonly bodies: number;
}
