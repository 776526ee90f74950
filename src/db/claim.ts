import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { BODY_COLUMNS, type Claimable, incomingRows, insertBodies } from './incoming.ts';
import { TICKET_GRACE_MS } from './keys.ts';
import { parkReplays } from './park-replays.ts';
import { webhookBodies as bodies, webhookEvents as ledger } from './schema.ts';
import { type Query, textOf } from './statement.ts';

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
  const [event, ...more] = events;
  const statement =
    event && more.length === 0 ? claimOne(source, event, headers, now) : claimMany(source, events, headers, now);
  const rows = await run<Row>(db, statement);
  const claimed = rows.filter((row) => row.outcome === 'claimed').map(({ id }) => id);
  const found = new Set(rows.map(({ id }) => id));
  // The insert refused these, and no earlier event has their id: so an earlier event has their replay key.
  const suspects = events.filter(({ eventId, fingerprint }) => fingerprint !== null && !found.has(eventId));
  return { claimed, ...(await parkReplays(db, source, suspects, headers, now)) };
}

interface Row {
  id: string;
  outcome: 'claimed' | 'known';
}

const { source, eventId, type, occurredAt, receivedAt, dueAt, fingerprint } = columnNames(ledger);
const LEDGER_COLUMNS = sql`${source}, ${receivedAt}, ${dueAt}, ${eventId}, ${type}, ${occurredAt}, ${fingerprint}`;

/** The parameters of the claim of one event, in the order of their numbers. */
const [SOURCE, NOW, DUE, HEADERS, ID, TYPE, OCCURRED, FINGERPRINT, BODY] = Array.from({ length: 9 }, (_, n) =>
  sql.raw(`$${n + 1}`),
);

/**
 * Nearly all deliveries hold one event. Its values are parameters of their own, because Postgres takes twice as long to
 * plan a statement that reads them from arrays, and the text is built only once, because Drizzle needs longer for that
 * than the whole delivery otherwise takes.
 */
const CLAIM_ONE = textOf(sql`
  with claimed as (
    insert into ${ledger} (${LEDGER_COLUMNS})
    values (${SOURCE}, ${NOW}, ${DUE}, ${ID}, ${TYPE}, ${OCCURRED}, ${FINGERPRINT})
    on conflict do nothing
    returning ${ledger.eventId} as id
  ),
  kept as (
    insert into ${bodies} (${BODY_COLUMNS})
    select ${SOURCE}, id, ${BODY}, ${HEADERS}, ${NOW} from claimed
    on conflict do nothing
  )
  select id, 'claimed' as outcome from claimed`).sql;

/** Whether an event that was not claimed is known by its id. Only an event with a replay key may be unknown then. */
const CLAIM_ONE_OR_FIND =
  CLAIM_ONE +
  textOf(sql`
  union all
  select ${ledger.eventId}, 'known' from ${ledger}
  where ${ledger.source} = ${SOURCE} and ${ledger.eventId} = ${ID} and not exists (select from claimed)`).sql;

function claimOne(source: string, event: Claimable, headers: Record<string, string>, now: Date): Query {
  const { eventId, type, occurredAt, fingerprint, body } = event;
  return {
    sql: fingerprint === null ? CLAIM_ONE : CLAIM_ONE_OR_FIND,
    params: [
      source,
      now.toISOString(),
      dueAtOf(now),
      JSON.stringify(headers),
      eventId,
      type,
      occurredAt?.toISOString() ?? null,
      fingerprint,
      body,
    ],
  };
}

/** The rows are inserted in the order of their ids, so that two deliveries of the same events can't deadlock. */
function claimMany(source: string, events: readonly Claimable[], headers: Record<string, string>, now: Date): SQL {
  const known = sql`
    union all
    select id, 'known' from incoming join ${ledger} on ${ledger.eventId} = id
    where ${ledger.source} = ${source} and id not in (select id from claimed)`;
  return sql`
    with incoming as (${incomingRows(events)}),
    claimed as (
      insert into ${ledger} (${LEDGER_COLUMNS})
      select ${source}, ${now.toISOString()}::timestamptz, ${dueAtOf(now)}::timestamptz, id, type, occurred_at, fingerprint
      from incoming order by id
      on conflict do nothing
      returning ${ledger.eventId} as id
    ),
    kept as (${insertBodies(source, headers, now)})
    select id, 'claimed' as outcome from claimed
    ${events.some(({ fingerprint }) => fingerprint !== null) ? known : sql``}`;
}

function dueAtOf(now: Date): string {
  return new Date(now.getTime() + TICKET_GRACE_MS).toISOString();
}
