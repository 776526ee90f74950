import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type Claimable, incomingRows, insertBodies } from './incoming.ts';
import { TICKET_GRACE_MS } from './keys.ts';
import { parkReplays } from './park-replays.ts';
import { webhookEvents as ledger } from './schema.ts';

/** The ids of a delivery's events, by what became of them. An id in none of the lists was claimed by another delivery. */
export interface Claims {
  /** Claimed now, and pending: each needs a ticket. */
  readonly claimed: string[];
  /** Claimed now as suspected replays: each is parked until a person decides about it. */
  readonly parked: string[];
  /** Suspected replays that were not claimed, because enough of the same replay key are parked already. */
  readonly dropped: string[];
  /** Claimed before, and still pending after their due time: their tickets may be lost. */
  readonly overdue: string[];
}

/**
 * Claims the events of one delivery, bodies included, in one round trip.
 *
 * An event with a new id but a known replay key may be a captured body that somebody sent again, or a real event that
 * repeats the words of an earlier one. It is claimed as parked, by a second statement, so that it neither runs nor gets
 * lost.
 */
export async function claim(
  db: Database,
  source: string,
  events: readonly Claimable[],
  headers: Record<string, string>,
  now: Date,
): Promise<Claims> {
  const rows = await run<Row>(db, claimStatement(source, events, headers, now));
  const idsOf = (wanted: Row['outcome']) => rows.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);
  const found = new Set(rows.map(({ id }) => id));
  // The insert refused these, and no earlier event has their id: so an earlier event has their replay key.
  const suspects = events.filter(({ eventId, fingerprint }) => fingerprint !== null && !found.has(eventId));
  const { parked, dropped } = await parkReplays(db, source, suspects, headers, now);
  return { claimed: idsOf('claimed'), parked, dropped, overdue: idsOf('overdue') };
}

interface Row extends Record<string, unknown> {
  id: string;
  outcome: 'claimed' | 'overdue' | 'known';
}

const ledgerColumn = columnNames(ledger);

/**
 * The rows are inserted in the order of their ids, so that two deliveries of the same events can't deadlock.
 * Whether a row is overdue is a column, not a condition: as a condition it invites the planner to use the index of
 * due events, and every duplicate would then read the whole backlog.
 */
function claimStatement(source: string, events: readonly Claimable[], headers: Record<string, string>, now: Date): SQL {
  const at = sql`${now.toISOString()}::timestamptz`;
  const dueAt = sql`${new Date(now.getTime() + TICKET_GRACE_MS).toISOString()}::timestamptz`;
  return sql`
    with incoming as (${incomingRows(events)}),
    claimed as (
      insert into ${ledger} (
        ${ledgerColumn.source}, ${ledgerColumn.eventId}, ${ledgerColumn.type}, ${ledgerColumn.occurredAt},
        ${ledgerColumn.receivedAt}, ${ledgerColumn.dueAt}, ${ledgerColumn.fingerprint}
      )
      select ${source}, id, type, occurred_at, ${at}, ${dueAt}, fingerprint from incoming order by id
      on conflict do nothing
      returning ${ledger.eventId} as id
    ),
    kept as (${insertBodies(source, headers, now)})
    select id, 'claimed' as outcome from claimed
    union all
    select id, case when ${ledger.status} = 'pending' and ${ledger.dueAt} <= ${at} then 'overdue' else 'known' end
    from incoming join ${ledger} on ${ledger.eventId} = id where ${ledger.source} = ${source}`;
}
