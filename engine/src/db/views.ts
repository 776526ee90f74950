// What an operator sees of events. The shapes are those of the API: docs/ops-api.json is made from them.
import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import * as v from 'valibot';
import { isTenantName } from '../shared/tenants.ts';
import { type Database, run } from './client.ts';
import { type EventFilter, MAX_COMMON, matches } from './filter.ts';
import type { EventKey } from './keys.ts';
import { WAITING } from './order.ts';
import { ACTIONS, bodies, effects, events, FAILURES, itsBody, itsEvent, type WorkTable } from './schema.ts';
import { isoTimes } from './sql.ts';

export const Time = v.pipe(v.string(), v.isoTimestamp());
export const TimeOrNull = v.nullable(Time);
export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

const MaxAttempts = v.pipe(
  v.nullable(Count),
  v.description('After so many attempts it is parked. Null if none failed'),
);
const ErrorPosition = v.pipe(
  v.nullable(v.string()),
  v.description('Where the error was thrown, if code of yours threw it'),
);

export const ListedEvent = v.strictObject({
  source: v.string(),
  event_id: v.string(),
  type: v.nullable(v.string()),
  status: v.picklist(events.status.enumValues),
  attempts: Count,
  max_attempts: MaxAttempts,
  failure: v.nullable(v.picklist(FAILURES)),
  last_error: v.nullable(v.string()),
  position: ErrorPosition,
  summary: v.pipe(v.nullable(v.string()), v.description('What was done. Of a discarded event: the reason')),
  completions: v.pipe(
    Count,
    v.description('1 once it is completed. Then it can run again as long as its body is kept'),
  ),
  parked_effects: Count,
  pending_effects: Count,
  effect_error: v.pipe(v.nullable(v.string()), v.description('Of a parked effect: its name, and its error')),
  received_at: Time,
  finished_at: TimeOrNull,
  due_at: Time,
});
export type ListedEvent = v.InferOutput<typeof ListedEvent>;

export const EffectDetails = v.strictObject({
  name: v.string(),
  kind: v.string(),
  status: v.picklist(effects.status.enumValues),
  attempts: Count,
  max_attempts: MaxAttempts,
  failure: v.nullable(v.picklist(FAILURES)),
  last_error: v.nullable(v.string()),
  position: ErrorPosition,
  due_at: Time,
  not_before: TimeOrNull,
  send_at: v.pipe(TimeOrNull, v.description('When its handler wants it sent, if that is later than at once')),
  sent_at: TimeOrNull,
});

/** All that is known of an event. */
export const EventDetails = v.strictObject({
  ...ListedEvent.entries,
  original_id: v.pipe(
    v.nullable(v.string()),
    v.description('The id as the provider sent it, if another event has it. Then event_id is a hash'),
  ),
  occurred_at: TimeOrNull,
  not_before: TimeOrNull,
  failed_paths: v.pipe(
    v.nullable(v.array(v.string())),
    v.description('Of the failure schema: the paths in the body that do not match'),
  ),
  order_key: v.nullable(v.string()),
  waiting: v.pipe(Count, v.description('Later events of the same order key, which wait for this one')),
  fingerprint: v.nullable(v.string()),
  replay_number: Count,
  actions: v.array(
    v.strictObject({
      at: Time,
      who: v.string(),
      action: v.picklist(ACTIONS),
      reason: v.nullable(v.string()),
      was: v.optional(
        v.pipe(
          v.strictObject({
            status: v.picklist(events.status.enumValues),
            finished_at: TimeOrNull,
            attempts: Count,
            error: v.nullable(v.string()),
          }),
          v.description('What the event was before'),
        ),
      ),
      effects: v.optional(
        v.pipe(
          v.array(v.string()),
          v.description('The names of the effects that were retried, or discarded without their event'),
        ),
      ),
    }),
  ),
  body: v.pipe(v.nullable(v.string()), v.description('As it was received. Null if it has been pruned')),
  body_length: v.pipe(v.nullable(Count), v.description('The number of its characters')),
  headers: v.nullable(v.record(v.string(), v.string())),
  effects: v.array(EffectDetails),
});
export type EventDetails = v.InferOutput<typeof EventDetails>;

/** The place in the list after which the next page begins: the key of the last event. */
export interface Cursor {
  /** As Postgres writes it, with its microseconds. */
  readonly receivedAt: string;
  readonly source: string;
  readonly eventId: string;
}

/**
 * How many events each look at the table reads at most. Usually the first look fills the page. If it doesn't, the second
 * takes less than 100 ms. A page that is not full even then ends there, and the next page looks further.
 */
const LOOKS = [2000, 100_000];

/**
 * A page of the events that match, newest first, and where the next one begins, if there is more to look at. An event
 * that arrives meanwhile doesn't move the others to another page.
 *
 * No index has the order of this list, because every claim would pay for it. Parked and pending events and effects are
 * few, and have indexes of their own. A search by an id or its beginning uses the primary key, and so does that for the events
 * of a tenant, unless it has many. Anything else is looked for in the index of the time of receipt.
 */
export async function listEvents(
  db: Database,
  filter: EventFilter,
  { after, limit, looks = LOOKS }: { after: Cursor | undefined; limit: number; looks?: readonly number[] },
): Promise<{ readonly events: readonly ListedEvent[]; readonly next: Cursor | undefined }> {
  const { q, status, effect_status } = filter;
  const isRare = q !== undefined && !(isTenant(q) && (await hasMany(db, q)));
  const isFew = isRare || status === 'parked' || status === 'pending' || effect_status !== undefined;
  const found: ListedEvent[] = [];
  let next = after;
  for (const look of isFew ? [undefined] : looks) {
    const statement =
      look === undefined
        ? fewStatement(filter, isRare, next, limit + 1)
        : lookStatement(filter, next, limit + 1 - found.length, look);
    const rows = await run<ListedEvent & { end: string | null }>(db, statement);
    found.push(...rows.filter(({ event_id }) => event_id !== null).map(({ end, ...event }) => event));
    const end = rows[0]?.end ?? undefined;
    // Nothing was received earlier than this, or nothing that was is wanted.
    next = end === undefined ? undefined : { receivedAt: end, source: '', eventId: '' };
    if (found.length > limit || next === undefined) break;
  }
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    events: page.map((event) => isoTimes(event, 'received_at', 'finished_at', 'due_at')),
    next: last ? { receivedAt: last.received_at, source: last.source, eventId: last.event_id } : next,
  };
}

/** The columns of a table that are fields of an answer, under the same names. */
function columnsIn(fields: v.ObjectEntries, table: WorkTable): SQL {
  const columns = Object.values(getTableColumns(table));
  const wanted = Object.keys(fields).flatMap((field) => columns.find(({ name }) => name === field) ?? []);
  return sql.join(wanted, sql`, `);
}

const effectsIn = (status: 'parked' | 'pending') =>
  sql`${effects} where ${effects.status} = ${sql.raw(`'${status}'`)} and ${itsEvent}`;
const UNSENT_EFFECTS = sql`
      (select count(*)::int from ${effectsIn('parked')}) as parked_effects,
      (select count(*)::int from ${effectsIn('pending')}) as pending_effects,
      (select min(concat_ws(': ', ${effects.name}, ${effects.lastError})) from ${effectsIn('parked')}) as effect_error`;
const LISTED = sql`${columnsIn(ListedEvent.entries, events)}, ${UNSENT_EFFECTS}`;

const NEWEST_FIRST = sql`order by ${events.receivedAt} desc, ${events.source} desc, ${events.eventId} desc`;

function isAfter(cursor: Cursor | undefined): SQL {
  if (cursor === undefined) return sql`true`;
  const { receivedAt, source, eventId } = cursor;
  return sql`(${events.receivedAt}, ${events.source}, ${events.eventId}) < (${receivedAt}::timestamptz, ${source}, ${eventId})`;
}

/** The ids of a tenant's events begin so: a search for `acme:` is one for all events of acme. */
function isTenant(q: string): boolean {
  return q.endsWith(':') && isTenantName(q.slice(0, -1));
}

/** The events of a tenant that are sorted to show the newest. If it has more, they are looked for among the newest of all. */
export const MAX_OF_TENANT = 2000;

/** The events of a tenant, for each of the sources. `starts_with` is right in every collation. */
const ofTenant = (q: string) => sql`${events.source} = seen_sources.source and starts_with(${events.eventId}, ${q})`;

async function hasMany(db: Database, q: string): Promise<boolean> {
  const rows = await run(
    db,
    sql`
    with recursive ${seenSources}
    select 1 from seen_sources cross join lateral (select 1 from ${events} where ${ofTenant(q)}) as found
    offset ${MAX_OF_TENANT} limit 1`,
  );
  return rows.length > 0;
}

/** The conditions of a filter in a list, which also takes the beginning of an id. */
function listed({ q, ...filter }: EventFilter): SQL {
  return q === undefined ? matches(filter) : sql`${matches(filter)} and starts_with(${events.eventId}, ${q})`;
}

/** Of a filter that an index answers. */
function fewStatement(filter: EventFilter, isRare: boolean, after: Cursor | undefined, limit: number): SQL {
  const { q } = filter;
  const conditions = sql`${listed(filter)} and ${isAfter(after)}`;
  if (q === undefined || !isRare) {
    // Postgres must begin with the effects, and not with the newest events: it can't know how old those with effects are.
    const all = filter.effect_status === undefined ? sql`` : sql`offset 0`;
    return sql`
    select * from (select ${LISTED} from ${events} where ${conditions} ${all}) as found
    order by received_at desc, source desc, event_id desc limit ${limit}`;
  }
  if (isTenant(q)) {
    return sql`
    with recursive ${seenSources}
    select found.* from seen_sources cross join lateral (
      select ${LISTED} from ${events} where ${ofTenant(q)} and ${conditions}
      offset 0
    ) as found
    order by received_at desc, source desc, event_id desc limit ${limit}`;
  }
  return sql`
    with recursive ${seenSources}
    select found.* from seen_sources cross join lateral (
      select max(event_id) as event_id from (
        select ${events.eventId} as event_id from ${events}
        where ${events.source} = seen_sources.source and ${events.eventId} >= ${q}
        order by ${events.eventId} limit ${MAX_COMMON}
      ) as common
    ) as last cross join lateral (
      select ${LISTED} from ${events}
      where ${events.source} = seen_sources.source and ${events.eventId} between ${q} and last.event_id
        and ${conditions}
      -- Postgres must begin with the ids, and not with the newest events: it can't know how old those of a few ids are.
      offset 0
    ) as found
    order by received_at desc, source desc, event_id desc limit ${limit}`;
}

/**
 * Looks at so many events. `end` is when the last of them was received: null if there is nothing beyond it. All events
 * of that time are looked at. The row is there although nothing is found.
 */
function lookStatement(filter: EventFilter, after: Cursor | undefined, limit: number, look: number): SQL {
  const { since, until } = filter;
  return sql`
    with look as materialized (
      select (
        select ${events.receivedAt} from ${events} where ${isAfter(after)} and ${matches({ since, until })}
        order by ${events.receivedAt} desc offset ${look} limit 1
      ) as "end"
    )
    select look."end", found.* from look left join lateral (
      select ${LISTED} from ${events}
      where ${events.receivedAt} >= coalesce(look."end", '-infinity') and ${listed(filter)} and ${isAfter(after)}
      ${NEWEST_FIRST} limit ${limit}
    ) as found on true`;
}

/**
 * The sources of all events, as `seen_sources`: also of those that are not configured any more. It jumps from one source
 * to the next in the primary key. A `select distinct` would read the whole index. The CTE needs `with recursive`.
 */
export const seenSources: SQL = sql`seen_sources as (
      (select ${events.source} as source from ${events} order by ${events.source} limit 1)
      union all
      select (
        select ${events.source} from ${events} where ${events.source} > seen_sources.source
        order by ${events.source} limit 1
      ) from seen_sources where seen_sources.source is not null
    )`;

/** All of a text: the largest integer of Postgres. */
const WHOLE = 2_147_483_647;

/** Undefined if there is no such event. `maxBody`: how many characters of its body are wanted. */
export async function loadDetails(
  db: Database,
  { source, eventId }: EventKey,
  maxBody = WHOLE,
): Promise<EventDetails | undefined> {
  const [row] = await run<Omit<EventDetails, 'actions'> & { actions: EventDetails['actions'] | null }>(
    db,
    sql`
    select ${columnsIn(EventDetails.entries, events)}, ${UNSENT_EFFECTS}, ${WAITING} as waiting, ${bodies.headers} as headers,
      left(${bodies.body}, ${maxBody}) as body, length(${bodies.body}) as body_length,
      coalesce((
        select json_agg(effect order by effect.name) from (
          select ${columnsIn(EffectDetails.entries, effects)} from ${effects}
          where (${effects.source}, ${effects.eventId}) = (${source}, ${eventId})
        ) as effect
      ), '[]') as effects
    from ${events} left join ${bodies} on ${itsBody}
    where (${events.source}, ${events.eventId}) = (${source}, ${eventId})`,
  );
  return (
    row && {
      ...isoTimes(row, 'received_at', 'finished_at', 'due_at', 'occurred_at', 'not_before'),
      actions: (row.actions ?? []).map(({ was, ...action }) =>
        was ? { ...action, was: isoTimes(was, 'finished_at') } : action,
      ),
      effects: row.effects.map((effect) => isoTimes(effect, 'due_at', 'not_before', 'send_at', 'sent_at')),
    }
  );
}
