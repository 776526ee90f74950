import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { sha256 } from '../shared/bytes.ts';
import { memoize } from '../shared/memoize.ts';
import { ofTenant } from '../shared/tenants.ts';
import { type Database, run } from './client.ts';
import { DatabaseError } from './errors.ts';
import { bodies, events, FINGERPRINT_ONCE, TICKET_GRACE_MS } from './schema.ts';
import { at, builtOnce, columnNames, type Query } from './sql.ts';

export interface NewEvent {
  readonly eventId: string;
  readonly type: string | null;
  readonly occurredAt: Date | null;
  /** The hashed replay key. Null if the event has none. */
  readonly fingerprint: string | null;
  readonly body: string;
  /** Whether all events with this fingerprint have the same body. */
  readonly isBodyHash?: boolean;
  /** Only for events with an order key. */
  readonly orderKey?: string;
  /** The event's place in the delivery's body. */
  readonly orderPlace?: number;
}

/** The events of one verified delivery. */
export interface ClaimRequest {
  readonly source: string;
  /** The ids, replay keys and order keys of its events begin with it. */
  readonly tenant?: string | undefined;
  readonly events: readonly NewEvent[];
  readonly headers: Record<string, string>;
  readonly receivedAt: Date;
  /** Whether the signature doesn't cover the ids, so that somebody else may have used one of them before. */
  readonly unsignedIds: boolean;
}

/**
 * The keys of a delivery's events, by result. A key is the event's id or, if another event has the id, a hash.
 */
export interface ClaimResult {
  /** Claimed now and pending, so each needs a ticket. */
  readonly claimed: string[];
  /** Claimed by an earlier or a concurrent delivery. */
  readonly known: string[];
  /** Claimed now as suspected replays, which are parked until a person decides. */
  readonly parked: string[];
  /** Suspected replays that were not claimed because too many with the same replay key are already parked. */
  readonly refused: string[];
}

/** Another event already has this id. `taken_by_replay`: that event is a suspected replay. */
type Taken = 'taken' | 'taken_by_replay';

type Outcomes = ReadonlyMap<string, keyof ClaimResult | Taken>;

/** An event whose key is a hash because another event has its id. */
interface HashedEvent extends NewEvent {
  readonly originalId: string;
}

/**
 * Claims the events of one delivery, bodies included, in one round trip.
 *
 * An event with a new id but a known replay key may be a captured body that somebody sent again, or a real event with
 * the same content as an earlier one. A second statement claims it as parked, so that it neither runs nor gets lost. At
 * most `maxReplays` with one replay key may be parked. More are refused, so that somebody who repeats one captured
 * delivery can't fill the table.
 *
 * If ids are not signed, somebody may also have sent a captured body under the id of a future event. So an event with a
 * known id but another replay key is claimed under a hash of its own id and replay key. If the stored event with this id
 * is a suspected replay, the new event is taken as the real one and runs. Otherwise the new event is parked.
 */
export async function claim(db: Database, request: ClaimRequest, maxReplays = MAX_REPLAYS): Promise<ClaimResult> {
  const outcomes = await claimOrPark(db, request, maxReplays);
  const isTaken = ({ eventId }: NewEvent) => ['taken', 'taken_by_replay'].includes(outcomes.get(eventId) ?? '');
  const taken = request.events.filter(isTaken);
  if (taken.length === 0) return resultOf(outcomes);
  const renamed = await Promise.all(taken.map((event) => rename(event, request.tenant)));
  const isReal = ({ originalId }: HashedEvent) => outcomes.get(originalId) === 'taken_by_replay';
  const real = renamed.filter(isReal);
  const suspects = renamed.filter((event) => !isReal(event));
  // The hash includes the replay key, so no other event can have it.
  const underHashes = { ...request, unsignedIds: false };
  return resultOf(
    outcomes,
    real.length > 0 ? await claimOrPark(db, { ...underHashes, events: real }, maxReplays) : new Map(),
    suspects.length > 0 ? await parkReplays(db, underHashes, suspects, maxReplays) : new Map(),
  );
}

/** Hashed because an id and a replay key together would exceed the length of a key. */
async function rename(event: NewEvent, tenant: string | undefined): Promise<HashedEvent> {
  const text = JSON.stringify([event.eventId, event.fingerprint]);
  const hash = await sha256(new TextEncoder().encode(text));
  return { ...event, eventId: ofTenant(tenant, hash), originalId: event.eventId };
}

function resultOf(...all: readonly Outcomes[]): ClaimResult {
  const result: ClaimResult = { claimed: [], known: [], parked: [], refused: [] };
  for (const [key, outcome] of all.flatMap((outcomes) => [...outcomes])) {
    if (outcome !== 'taken' && outcome !== 'taken_by_replay') result[outcome].push(key);
  }
  return result;
}

async function claimOrPark(db: Database, request: ClaimRequest, maxReplays: number): Promise<Outcomes> {
  const { events } = request;
  const [first] = events;
  const isPlain = events.length === 1 && first !== undefined && !('originalId' in first);
  const outcomes = isPlain ? await claimOne(db, request, first) : await claimBatch(db, request);
  // Neither inserted nor found: an earlier event has the same replay key, or the same event is being claimed concurrently.
  const undecided = events.filter(({ eventId }) => !outcomes.has(eventId));
  if (undecided.length === 0) return outcomes;
  return new Map([...outcomes, ...(await parkReplays(db, request, undecided, maxReplays))]);
}

/** The parameters of the claims. The events of a batch are one JSON text. */
const param = {
  source: sql.placeholder('source'),
  headers: sql.placeholder('headers'),
  receivedAt: sql.placeholder('receivedAt'),
  dueAt: sql.placeholder('dueAt'),
  eventId: sql.placeholder('eventId'),
  type: sql.placeholder('type'),
  occurredAt: sql.placeholder('occurredAt'),
  fingerprint: sql.placeholder('fingerprint'),
  body: sql.placeholder('body'),
  orderKey: sql.placeholder('orderKey'),
  orderPlace: sql.placeholder('orderPlace'),
  events: sql.placeholder('events'),
  count: sql.placeholder('count'),
  unsignedIds: sql.placeholder('unsignedIds'),
  maxReplays: sql.placeholder('maxReplays'),
};

function sharedValues({ source, headers, receivedAt }: ClaimRequest) {
  return { source, headers, receivedAt, dueAt: new Date(receivedAt.getTime() + TICKET_GRACE_MS) };
}

function valuesOfMany(request: ClaimRequest, given: readonly NewEvent[]) {
  const { unsignedIds } = request;
  return { ...sharedValues(request), events: JSON.stringify(given), count: given.length, unsignedIds };
}

const eventColumn = columnNames(events);
const bodyColumn = columnNames(bodies);

const EVENT_COLUMNS = sql`
    ${eventColumn.source}, ${eventColumn.receivedAt}, ${eventColumn.dueAt}, ${eventColumn.eventId},
    ${eventColumn.type}, ${eventColumn.occurredAt}, ${eventColumn.fingerprint}`;

const BODY_COLUMNS = sql`
    ${bodyColumn.source}, ${bodyColumn.receivedAt}, ${bodyColumn.headers}, ${bodyColumn.eventId}, ${bodyColumn.body}`;

const ORDER_COLUMNS = sql`, ${eventColumn.orderKey}, ${eventColumn.orderPlace}`;

/** The claim with an order key and the claim without. Each is built when it is first needed. */
function bothClaims(make: (isOrdered: boolean) => SQL) {
  const built = memoize((isOrdered: boolean) => builtOnce(make(isOrdered)));
  return (given: readonly NewEvent[]) => built(given.some(({ orderKey }) => orderKey !== undefined));
}

const insertEvent = (isOrdered: boolean) => sql`
    insert into ${events} (${EVENT_COLUMNS}${isOrdered ? ORDER_COLUMNS : sql``})
    values (${param.source}, ${param.receivedAt}, ${param.dueAt}, ${param.eventId},
            ${param.type}, ${param.occurredAt}, ${param.fingerprint}${isOrdered ? sql`, ${param.orderKey}, ${param.orderPlace}` : sql``})
    on conflict (${eventColumn.source}, ${eventColumn.eventId}) do nothing
    returning ${events.eventId} as event_id`;

const insertBody = sql`
    insert into ${bodies} (${BODY_COLUMNS})
    select ${param.source}, ${param.receivedAt}::timestamptz, ${param.headers}::jsonb, event_id, ${param.body} from claimed
    returning ${bodies.eventId} as "eventId"`;

/**
 * Nearly every delivery has one event, so its claim uses plain values. Planning arrays and joins takes Postgres twice as long.
 *
 * A known id changes nothing and returns no row. A known replay key violates its unique index.
 */
const CLAIM_ONE = bothClaims((isOrdered) => sql`with claimed as (${insertEvent(isOrdered)}) ${insertBody}`);

/** What the existing event with this id is: the same event (`known`), a suspected replay, or another event (`taken`). */
const holder = (fingerprint: SQL | Placeholder) => sql`
    case when ${events.fingerprint} = ${fingerprint} then 'known'
         when ${events.replayNumber} > 0 then 'taken_by_replay' else 'taken' end`;

/** If the id is known, it returns what the existing event with this id is. */
const CLAIM_ONE_WITH_UNSIGNED_ID = bothClaims(
  (isOrdered) => sql`
  with claimed as (${insertEvent(isOrdered)}), inserted_body as (${insertBody})
  select 'claimed' as outcome from claimed
  union all
  select ${holder(param.fingerprint)} from ${events}
  where ${events.source} = ${param.source} and ${events.eventId} = ${param.eventId}
    and not exists (select from claimed)`,
);

async function claimOne(db: Database, request: ClaimRequest, event: NewEvent): Promise<Outcomes> {
  const { eventId, fingerprint } = event;
  const values = { ...sharedValues(request), ...event };
  try {
    if (request.unsignedIds && fingerprint !== null) {
      const rows = await run<{ outcome: 'claimed' | 'known' | Taken }>(db, CLAIM_ONE_WITH_UNSIGNED_ID([event])(values));
      return new Map(rows.map(({ outcome }) => [eventId, outcome]));
    }
    const rows = await run(db, CLAIM_ONE([event])(values));
    return new Map([[eventId, rows.length > 0 ? 'claimed' : 'known']]);
  } catch (error) {
    // Only this constraint means that the replay key is known; any other error is a failure. Concurrent deliveries of one
    // event may also get here; parkReplays then finds that the id is known.
    const isKnown = error instanceof DatabaseError && error.code === '23505' && error.constraint === FINGERPRINT_ONCE;
    if (!isKnown) throw error;
    return new Map();
  }
}

/**
 * The events as rows of `incoming`. They are sent as JSON instead of lists, because the driver escapes list items in
 * JavaScript, which took twice the time and memory for a batch of 6 MB. The limit tells the planner the number of rows.
 */
const INCOMING = sql`incoming as (
    select "eventId" as event_id, "originalId" as original_id, type, "occurredAt" as occurred_at, fingerprint, body,
           "isBodyHash" as is_body_hash, "orderKey" as order_key, "orderPlace" as order_place
    from json_to_recordset(${param.events}::json)
      as given ("eventId" text, "originalId" text, type text, "occurredAt" timestamptz, fingerprint text, body text,
                "isBodyHash" boolean, "orderKey" text, "orderPlace" int)
    limit ${param.count}
  )`;

/** Stores the bodies of the claimed rows, unless another event has the same body. */
const INSERT_BODIES = sql`inserted_bodies as (
    insert into ${bodies} (${BODY_COLUMNS})
    select ${param.source}, ${param.receivedAt}::timestamptz, ${param.headers}::jsonb, event_id, body
    from incoming join claimed using (event_id) where claimed.body_of is null
    on conflict do nothing
  )`;

/** Inserts rows in the order of their ids, so that two deliveries of the same events can't deadlock. */
const claimMany = (isOrdered: boolean) => sql`
  with ${INCOMING},
  claimed as (
    insert into ${events} (${EVENT_COLUMNS}, ${eventColumn.originalId}${isOrdered ? ORDER_COLUMNS : sql``})
    select ${param.source}, ${param.receivedAt}::timestamptz, ${param.dueAt}::timestamptz, event_id, type, occurred_at,
           fingerprint, original_id${isOrdered ? sql`, order_key, order_place` : sql``}
    from incoming order by event_id
    on conflict do nothing
    returning ${events.eventId} as event_id, ${events.bodyOf} as body_of
  ),
  ${INSERT_BODIES}
  select event_id as "eventId", 'claimed' as outcome from claimed`;

const CLAIM_WITHOUT_REPLAY_KEYS = bothClaims(claimMany);

/** What an existing event with the same id is. If ids are signed, or without a replay key, it is the same event. */
const HOLDER = sql`
    case when not ${param.unsignedIds}::boolean or incoming.fingerprint is null then 'known'
         else ${holder(sql`incoming.fingerprint`)} end`;

/**
 * A batch skips all conflicts, so that one known replay key can't make the other events fail. Then it looks up the known ids.
 */
const CLAIM_WITH_REPLAY_KEYS = bothClaims(
  (isOrdered) => sql`
  ${claimMany(isOrdered)}
  union all
  select event_id, ${HOLDER} from incoming join ${events} using (event_id)
  where ${events.source} = ${param.source} and event_id not in (select event_id from claimed)`,
);

/**
 * The claim as one statement of a transaction, for events without replay keys: each is claimed now or already known. An event
 * with a known replay key would be lost, because nothing parks it.
 */
export function claimStatement(request: ClaimRequest): Query {
  return CLAIM_WITHOUT_REPLAY_KEYS(request.events)(valuesOfMany(request, request.events));
}

async function claimBatch(db: Database, request: ClaimRequest): Promise<Outcomes> {
  const hasReplayKeys = request.events.some(({ fingerprint }) => fingerprint !== null);
  const statement = hasReplayKeys ? CLAIM_WITH_REPLAY_KEYS : CLAIM_WITHOUT_REPLAY_KEYS;
  const rows = await run<{ eventId: string; outcome: 'claimed' | 'known' | Taken }>(
    db,
    statement(request.events)(valuesOfMany(request, request.events)),
  );
  // Without a replay key, an event that was not inserted is known. The rows of those that were inserted overwrite this.
  const withoutReplayKey = request.events.filter(({ fingerprint }) => fingerprint === null);
  return new Map([
    ...withoutReplayKey.map(({ eventId }) => [eventId, 'known'] as const),
    ...rows.map(({ eventId, outcome }) => [eventId, outcome] as const),
  ]);
}

/**
 * How many suspected replays of one replay key may be parked at the same time. If a provider's bodies repeat, people have days
 * to notice. If somebody floods us with one captured delivery, it adds at most this many small rows, which share one body.
 */
export const MAX_REPLAYS = 2000;

/**
 * The first try can't insert an event that another delivery is claiming at the same moment, and can't see it yet. The second
 * try sees it, because the first one waited for its commit.
 */
const MAX_TRIES = 2;

type ReplayOutcome = 'parked' | 'refused' | 'known' | Taken;

/** Parks events with a new id but a known replay key, and events whose id belongs to another event. */
async function parkReplays(
  db: Database,
  request: ClaimRequest,
  suspects: readonly NewEvent[],
  maxReplays: number,
): Promise<Outcomes> {
  const outcomes = new Map<string, ReplayOutcome>();
  let undecided = suspects;
  for (let tries = 0; undecided.length > 0; tries++) {
    if (tries === MAX_TRIES) throw new DatabaseError('a suspected replay could not be claimed', { retryable: true });
    const values = { ...valuesOfMany(request, undecided), maxReplays };
    const rows = await run<{ eventId: string; outcome: ReplayOutcome }>(db, PARK(values));
    for (const { eventId, outcome } of rows) outcomes.set(eventId, outcome);
    undecided = undecided.filter(({ eventId }) => !outcomes.has(eventId));
  }
  return outcomes;
}

const REASON = {
  before: 'suspected replay: event ',
  after:
    ' has the same body or replay key. Retry this event if it is real, discard it if it is not. ' +
    'If bodies repeat at this source, set bodiesRepeat',
  afterId: ' has the same id and another body. Retry this event if it is real, discard it if it is not',
};

const IS_WAITING = sql`${events.replayNumber} > 0 and ${events.status} = 'parked'`;

/** Above 0, and at most the largest integer of Postgres. */
const RANDOM_NUMBER = sql`1 + floor(random() * 2147483646)::int`;

/**
 * `replay_number` is 0 for the first event of a replay key, and random for each of its replays, so that concurrent ones don't
 * choose the same number. If all events of the key have the same body, the parked replays share the body of the first parked
 * one. They can't share the first event's body, because it may have been pruned and the receiver may not read bodies.
 */
const PARK = builtOnce(sql`
  with ${INCOMING},
  known as (
    select event_id, ${HOLDER} as outcome from incoming join ${events} using (event_id) where ${events.source} = ${param.source}
  ),
  suspected as (
    select incoming.event_id,
           (array_agg(${events.eventId} order by ${events.replayNumber}))[1] as first_id,
           min(${events.eventId}) filter (where ${IS_WAITING} and ${events.bodyOf} is null and incoming.is_body_hash) as body_of,
           count(*) filter (where ${IS_WAITING}) as waiting
    from incoming
    left join ${events} on ${events.fingerprint} = incoming.fingerprint and ${events.source} = ${param.source}
    where incoming.event_id not in (select event_id from known)
      and (${events.eventId} is not null or incoming.original_id is not null)
    group by 1
  ),
  claimed as (
    insert into ${events} (
      ${eventColumn.source}, ${eventColumn.eventId}, ${eventColumn.originalId}, ${eventColumn.type}, ${eventColumn.occurredAt},
      ${eventColumn.receivedAt}, ${eventColumn.dueAt}, ${eventColumn.finishedAt}, ${eventColumn.fingerprint}, ${eventColumn.replayNumber}, ${eventColumn.bodyOf},
      ${eventColumn.status}, ${eventColumn.failure}, ${eventColumn.lastError}${ORDER_COLUMNS}
    )
    select ${param.source}, event_id, original_id, type, occurred_at, ${param.receivedAt}::timestamptz,
           ${param.receivedAt}::timestamptz, ${param.receivedAt}::timestamptz, fingerprint, ${RANDOM_NUMBER}, body_of,
           'parked', 'replay',
           ${REASON.before}::text || coalesce(first_id || ${REASON.after}::text, original_id || ${REASON.afterId}::text), order_key, order_place
    from incoming join suspected using (event_id) where waiting < ${param.maxReplays}
    order by event_id
    on conflict do nothing
    returning ${events.eventId} as event_id, ${events.bodyOf} as body_of
  ),
  ${INSERT_BODIES}
  select event_id as "eventId", 'parked' as outcome from claimed
  union all
  select event_id, 'refused' from suspected where waiting >= ${param.maxReplays}
  union all
  select event_id, outcome from known`);

/**
 * Finds the events that are still pending after their due time, because their tickets may be lost.
 *
 * `isOverdue` is a column instead of a condition, because a condition makes the planner use the index of due events,
 * and every query would then read the whole backlog.
 */
export async function findOverdue(
  db: Database,
  source: string,
  eventIds: readonly string[],
  now: Date,
): Promise<string[]> {
  const rows = await run<{ eventId: string; isOverdue: boolean }>(
    db,
    sql`
    select ${events.eventId} as "eventId", ${events.status} = 'pending' and ${events.dueAt} <= ${at(now)} as "isOverdue"
    from ${events} where ${events.source} = ${source} and ${events.eventId} = any(${sql.param(eventIds)}::text[])`,
  );
  return rows.filter(({ isOverdue }) => isOverdue).map(({ eventId }) => eventId);
}
