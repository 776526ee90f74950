import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { sha256 } from '../shared/bytes.ts';
import { memoize } from '../shared/memoize.ts';
import { ofTenant } from '../shared/tenants.ts';
import { type Database, run } from './client.ts';
import { DatabaseError } from './errors.ts';
import { bodies, events, FINGERPRINT_ONCE, TICKET_GRACE_MS } from './schema.ts';
import { at, builtOnce, columnNames, type Query } from './sql.ts';

/** An event of a verified delivery, ready to be claimed. */
export interface NewEvent {
  readonly eventId: string;
  readonly type: string | null;
  readonly occurredAt: Date | null;
  readonly fingerprint: string | null;
  readonly body: string;
  /** The fingerprint is the SHA-256 of the body, so all events with this one have the same body. */
  readonly isBodyHash?: boolean;
  /** Only with an order key. */
  readonly orderKey?: string;
  /** Its place in the body of the delivery. */
  readonly orderPlace?: number;
}

/** The events of one verified delivery. */
export interface ClaimRequest {
  readonly source: string;
  /** The ids, replay keys and order keys of its events begin with it. */
  readonly tenant?: string | undefined;
  readonly events: readonly NewEvent[];
  /** The delivery's headers that are kept. */
  readonly headers: Record<string, string>;
  readonly receivedAt: Date;
  /** Whether somebody else may have sent an event under one of these ids before: the signature doesn't cover them. */
  readonly unsignedIds: boolean;
}

/**
 * The keys of a delivery's events, by result. A key is the event's id or, if another event has the id, a hash.
 */
export interface ClaimResult {
  /** Claimed now, and pending: each needs a ticket. */
  readonly claimed: string[];
  /** Claimed by an earlier delivery, or by another one at this moment. */
  readonly known: string[];
  /** Claimed now as suspected replays: each is parked until a person decides about it. */
  readonly parked: string[];
  /** Suspected replays that were not claimed, because too many of the same replay key are parked already. */
  readonly refused: string[];
}

/** Another event has the id of this one, and may be a suspected replay itself. */
type Taken = 'taken' | 'taken_by_replay';

/** By key. */
type Outcomes = ReadonlyMap<string, keyof ClaimResult | Taken>;

/** An event that is claimed under another key than its id. */
interface Renamed extends NewEvent {
  readonly originalId: string;
}

/**
 * Claims the events of one delivery, bodies included, in one round trip.
 *
 * An event with a new id but a known replay key may be a captured body that somebody sent again, or a real event that
 * repeats the words of an earlier one. It is claimed as parked, by a second statement, so that it neither runs nor gets
 * lost. `maxReplays` of one replay key may be parked. More are refused, so that somebody who sends one captured delivery
 * again and again can't fill the table.
 *
 * If ids are not signed, somebody may also have sent a captured body under the id of an event that is still to come. So an
 * event with a known id but another replay key is claimed under a hash of both. It runs if the event that has its id is a
 * suspected replay. Otherwise it is a suspected replay itself.
 */
export async function claim(db: Database, request: ClaimRequest, maxReplays = MAX_REPLAYS): Promise<ClaimResult> {
  const outcomes = await claimOrPark(db, request, maxReplays);
  const isTaken = ({ eventId }: NewEvent) => ['taken', 'taken_by_replay'].includes(outcomes.get(eventId) ?? '');
  const taken = request.events.filter(isTaken);
  if (taken.length === 0) return resultOf(outcomes);
  const renamed = await Promise.all(taken.map((event) => rename(event, request.tenant)));
  const isReal = ({ originalId }: Renamed) => outcomes.get(originalId) === 'taken_by_replay';
  const real = renamed.filter(isReal);
  const suspects = renamed.filter((event) => !isReal(event));
  // A hash of the replay key belongs to one event only.
  const underHashes = { ...request, unsignedIds: false };
  return resultOf(
    outcomes,
    real.length > 0 ? await claimOrPark(db, { ...underHashes, events: real }, maxReplays) : new Map(),
    suspects.length > 0 ? await parkReplays(db, underHashes, suspects, maxReplays) : new Map(),
  );
}

/** An id and a replay key together are longer than a key may be. */
async function rename(event: NewEvent, tenant: string | undefined): Promise<Renamed> {
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
  // Not inserted, and not seen: an earlier event has the same replay key, or the same event is claimed at this moment.
  const undecided = events.filter(({ eventId }) => !outcomes.has(eventId));
  if (undecided.length === 0) return outcomes;
  return new Map([...outcomes, ...(await parkReplays(db, request, undecided, maxReplays))]);
}

/** The parameters of the claims. The events of a batch are one text, as JSON. */
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

/** A claim with an order key and one without. Each is built when it is first needed. */
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
 * Nearly every delivery holds one event, so its claim has plain values: Postgres plans arrays and joins twice as long.
 *
 * A known id changes nothing, and no row comes back. A known replay key breaks its unique index.
 */
const CLAIM_ONE = bothClaims((isOrdered) => sql`with claimed as (${insertEvent(isOrdered)}) ${insertBody}`);

/** What an event with this id is to one with this replay key: the same event, or another one. */
const holder = (fingerprint: SQL | Placeholder) => sql`
    case when ${events.fingerprint} = ${fingerprint} then 'known'
         when ${events.replayNumber} > 0 then 'taken_by_replay' else 'taken' end`;

/** Looks at the event that has the id, if there is one. */
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
    // Matched by name, because any other error is a failure. Of concurrent deliveries of one event, one may also come
    // here: parkReplays finds that its id is known.
    const isKnown = error instanceof DatabaseError && error.code === '23505' && error.constraint === FINGERPRINT_ONCE;
    if (!isKnown) throw error;
    return new Map();
  }
}

/**
 * Many events as rows of `incoming`. As JSON and not as lists: the driver escapes the items of a list in JavaScript, which
 * took twice the time and memory for a batch of 6 MB. The limit tells the planner how many they are.
 */
const INCOMING = sql`incoming as (
    select "eventId" as event_id, "originalId" as original_id, type, "occurredAt" as occurred_at, fingerprint, body,
           "isBodyHash" as is_body_hash, "orderKey" as order_key, "orderPlace" as order_place
    from json_to_recordset(${param.events}::json)
      as given ("eventId" text, "originalId" text, type text, "occurredAt" timestamptz, fingerprint text, body text,
                "isBodyHash" boolean, "orderKey" text, "orderPlace" int)
    limit ${param.count}
  )`;

/** Keeps the bodies of those rows of `incoming` that are in `claimed`, unless another event has the same one. */
const INSERT_BODIES = sql`inserted_bodies as (
    insert into ${bodies} (${BODY_COLUMNS})
    select ${param.source}, ${param.receivedAt}::timestamptz, ${param.headers}::jsonb, event_id, body
    from incoming join claimed using (event_id) where claimed.body_of is null
    on conflict do nothing
  )`;

/** Rows are inserted in the order of their ids, so that two deliveries of the same events can't deadlock. */
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

/** What an event of `incoming` is to the one that has its id. Without a replay key, nobody can tell. */
const HOLDER = sql`
    case when not ${param.unsignedIds}::boolean or incoming.fingerprint is null then 'known'
         else ${holder(sql`incoming.fingerprint`)} end`;

/** A batch skips every conflict, so that one known replay key can't refuse the other events. Then it looks up known ids. */
const CLAIM_WITH_REPLAY_KEYS = bothClaims(
  (isOrdered) => sql`
  ${claimMany(isOrdered)}
  union all
  select event_id, ${HOLDER} from incoming join ${events} using (event_id)
  where ${events.source} = ${param.source} and event_id not in (select event_id from claimed)`,
);

/** For a transaction of several statements: claims what is not known yet. Without replay keys, nothing else can happen. */
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
  const withoutReplayKey = request.events.filter(({ fingerprint }) => fingerprint === null);
  return new Map([
    ...withoutReplayKey.map(({ eventId }) => [eventId, 'known'] as const),
    ...rows.map(({ eventId, outcome }) => [eventId, outcome] as const),
  ]);
}

/**
 * Suspected replays of one replay key that may wait for a person's decision at the same time. A provider that repeats
 * itself gives people days to notice. A flood of one captured delivery fills the table with as many small rows: they
 * share one body.
 */
export const MAX_REPLAYS = 2000;

/** The first try decides an event, unless another delivery of it is claimed at this moment. Then the second one sees it. */
const MAX_TRIES = 3;

type ReplayOutcome = 'parked' | 'refused' | 'known' | Taken;

/** Claims events that have a new id but a known replay key, as parked, and those whose id another event has. */
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
 * `replay_number` is 0 for the first event of a replay key, and random for each of its replays: concurrent ones must not
 * choose the same. If all events of the key have the same body, the replays that are parked share the one of the first of
 * them. The body of the first event can't be theirs: it may have been pruned, and the receiver may not read bodies.
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
 * Of these events, those that are still pending after their due time: their tickets may be lost.
 *
 * Whether a row is overdue is a column, not a condition: as a condition it invites the planner to use the index of due
 * events, and every question would then read the whole backlog.
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
