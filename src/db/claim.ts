import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { TICKET_GRACE_MS } from './keys.ts';

export interface Claimable {
  readonly eventId: string;
  readonly type: string | null;
  readonly occurredAt: Date | null;
  readonly fingerprint: string | null;
  readonly body: string;
}

export interface Claims {
  /** Ids that this delivery claimed. */
  readonly claimed: string[];
  /** Ids that somebody claimed before, and that are pending past their time: their tickets may be lost. */
  readonly overdue: string[];
}

/**
 * Claims the events of one delivery, bodies included, in one round trip.
 *
 * An id in neither list is held: a concurrent copy committed it after our snapshot, or it is done, parked or in time.
 * The rows are inserted in the order of their ids, so that two deliveries of the same events can't deadlock.
 * Key and fingerprint are looked up in separate branches: an `or` of the two scans every event of the source.
 * Whether a row is overdue is a column, not a condition: as a condition it invites the planner to the index of what
 * is due, and every duplicate would then read the whole backlog.
 */
export async function claim(
  db: Database,
  source: string,
  events: readonly Claimable[],
  headers: Record<string, string>,
  now: Date,
): Promise<Claims> {
  const dueAt = new Date(now.getTime() + TICKET_GRACE_MS);
  const column = <T>(read: (event: Claimable) => T) => sql.param(events.map(read));
  const rows = await run<{ event_id: string; claimed: boolean; overdue: boolean }>(
    db,
    sql`
    with incoming as (
      select * from unnest(
        ${column((event) => event.eventId)}::text[],
        ${column((event) => event.type)}::text[],
        ${column((event) => event.occurredAt?.toISOString() ?? null)}::timestamptz[],
        ${column((event) => event.fingerprint)}::text[],
        ${column((event) => event.body)}::text[]
      ) as incoming (event_id, type, occurred_at, fingerprint, body)
    ),
    claimed as (
      insert into webhook_events (source, event_id, type, occurred_at, received_at, due_at, fingerprint)
      select ${source}, event_id, type, occurred_at, ${now.toISOString()}::timestamptz,
             ${dueAt.toISOString()}::timestamptz, fingerprint
      from incoming order by event_id
      on conflict do nothing
      returning event_id
    ),
    kept as (
      insert into webhook_bodies (source, event_id, body, headers, received_at)
      select ${source}, event_id, body, ${JSON.stringify(headers)}::jsonb, ${now.toISOString()}::timestamptz
      from incoming join claimed using (event_id)
      on conflict do nothing
    )
    select event_id, true as claimed, false as overdue from claimed
    union all
    select event_id, false, status = 'pending' and due_at <= ${now.toISOString()}::timestamptz
    from webhook_events join incoming using (event_id)
    where source = ${source}
    union all
    select held.event_id, false, held.status = 'pending' and held.due_at <= ${now.toISOString()}::timestamptz
    from webhook_events held join incoming using (fingerprint)
    where held.source = ${source} and held.event_id <> incoming.event_id`,
  );
  return {
    claimed: rows.filter((row) => row.claimed).map((row) => row.event_id),
    overdue: rows.filter((row) => row.overdue).map((row) => row.event_id),
  };
}
