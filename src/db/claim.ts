import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { DatabaseError } from './errors.ts';
import {
  BODY_COLUMNS,
  type Claimable,
  INCOMING_ROWS,
  INSERT_BODIES,
  param,
  paramsOfMany,
  paramsOfOne,
  type SharedValues,
} from './incoming.ts';
import { TICKET_GRACE_MS } from './keys.ts';
import { parkReplays } from './park-replays.ts';
import { webhookBodies as bodies, webhookEvents as ledger, REPLAY_GUARD } from './schema.ts';
import { textOf } from './statement.ts';

/** The ids of a delivery's events, by what became of them. An id in none of the lists was claimed by another delivery. */
export interface Claims {
  /** Claimed now, and pending: each needs a ticket. */
  readonly claimed: string[];
  /** Claimed now as suspected replays: each is parked until a person decides about it. */
  readonly parked: string[];
  /** Suspected replays that were not claimed, because enough of the same replay key are parked already. */
  readonly dropped: string[];
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
  const shared = { source, headers, now, dueAt: new Date(now.getTime() + TICKET_GRACE_MS) };
  const [event, ...more] = events;
  const alone = event && more.length === 0;
  const { claimed, suspects } = alone ? await claimOne(db, shared, event) : await claimMany(db, shared, events);
  return { claimed, ...(await parkReplays(db, shared, suspects)) };
}

interface Claimed {
  readonly claimed: string[];
  /** Neither claimed now nor known by their ids: so an earlier event has their replay keys. */
  readonly suspects: readonly Claimable[];
}

const ledgerColumn = columnNames(ledger);
const LEDGER_COLUMNS = sql`
  ${ledgerColumn.source}, ${ledgerColumn.receivedAt}, ${ledgerColumn.dueAt}, ${ledgerColumn.eventId},
  ${ledgerColumn.type}, ${ledgerColumn.occurredAt}, ${ledgerColumn.fingerprint}`;

/**
 * Nearly every delivery holds one event, so its claim has plain values: Postgres plans arrays and joins twice as long.
 *
 * A known id changes nothing, and no row comes back. A known replay key breaks its unique index.
 */
const CLAIM_ONE = textOf(sql`
  with claimed as (
    insert into ${ledger} (${LEDGER_COLUMNS})
    values (${param.source}, ${param.now}, ${param.dueAt}, ${param.id},
            ${param.type}, ${param.occurredAt}, ${param.fingerprint})
    on conflict (${ledgerColumn.source}, ${ledgerColumn.eventId}) do nothing
    returning ${ledger.eventId} as id
  )
  insert into ${bodies} (${BODY_COLUMNS})
  select ${param.source}, id, ${param.body}, ${param.headers}, ${param.now} from claimed
  returning ${bodies.eventId} as id`).sql;

async function claimOne(db: Database, shared: SharedValues, event: Claimable): Promise<Claimed> {
  try {
    const rows = await run<{ id: string }>(db, { sql: CLAIM_ONE, params: paramsOfOne(shared, event) });
    return { claimed: rows.map(({ id }) => id), suspects: [] };
  } catch (error) {
    // Matched by name, because any other error is a failure. Of concurrent deliveries of one event, one may also come
    // here: parkReplays finds that its id is known.
    const isKnown = error instanceof DatabaseError && error.code === '23505' && error.constraint === REPLAY_GUARD;
    if (!isKnown) throw error;
    return { claimed: [], suspects: [event] };
  }
}

/** Rows are inserted in the order of their ids, so that two deliveries of the same events can't deadlock. */
const CLAIM_MANY = sql`
  with incoming as (${INCOMING_ROWS}),
  claimed as (
    insert into ${ledger} (${LEDGER_COLUMNS})
    select ${param.source}, ${param.now}::timestamptz, ${param.dueAt}::timestamptz, id, type, occurred_at, fingerprint
    from incoming order by id
    on conflict do nothing
    returning ${ledger.eventId} as id
  ),
  kept as (${INSERT_BODIES})
  select id, true as is_new from claimed`;

const CLAIM_WITHOUT_REPLAY_KEYS = textOf(CLAIM_MANY).sql;

/** One known replay key must not refuse the other events, so here the ids are looked up of what was not inserted. */
const CLAIM_WITH_REPLAY_KEYS = textOf(sql`
  ${CLAIM_MANY}
  union all
  select id, false from incoming join ${ledger} on ${ledger.eventId} = id
  where ${ledger.source} = ${param.source} and id not in (select id from claimed)`).sql;

async function claimMany(db: Database, shared: SharedValues, events: readonly Claimable[]): Promise<Claimed> {
  const hasReplayKeys = events.some(({ fingerprint }) => fingerprint !== null);
  const rows = await run<{ id: string; is_new: boolean }>(db, {
    sql: hasReplayKeys ? CLAIM_WITH_REPLAY_KEYS : CLAIM_WITHOUT_REPLAY_KEYS,
    params: paramsOfMany(shared, events),
  });
  const found = new Set(rows.map(({ id }) => id));
  return {
    claimed: rows.filter((row) => row.is_new).map(({ id }) => id),
    suspects: events.filter(({ eventId, fingerprint }) => fingerprint !== null && !found.has(eventId)),
  };
}
