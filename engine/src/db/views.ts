// What an operator sees of events. docs/ops-api.json is generated from these shapes.
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

/** Everything that is known about an event. */
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

/** The key of the last event of a page, after which the next page begins. */
export interface Cursor {
  /** In Postgres's format, which has microseconds. */
  readonly receivedAt: string;
  readonly source: string;
  readonly eventId: string;
}

/**
 * How many events each look at the table reads at most. Usually the first look fills the page. The second takes less
 * than 100 ms. If the page is still not full, it ends there, and the next page continues.
 */
const LOOKS = [2000, 100_000];

/**
 * A page of the matching events, newest first, and the beginning of the next page, if there may be one. An event that
 * arrives meanwhile doesn't move others to another page.
 *
 * No index has the order of this list, because it would slow down every claim. Parked and pending events and effects
 * are few and have their own indexes. A search by an id or its beginning uses the primary key, and so does one for the
 * events of a tenant, unless it has many. Anything else uses the index of the receipt time.
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
    // The next page begins at `end`. Without it, there is nothing more to look at.
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

/** The columns of a table that have the names of these fields. */
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

/** A search for `acme:` finds all events of the tenant acme, because their ids begin with it. */
function isTenant(q: string): boolean {
  return q.endsWith(':') && isTenantName(q.slice(0, -1));
}

/** A tenant with at most so many events has them sorted to show the newest. Otherwise, the newest of all events are searched. */
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

/** The statement for a filter that an index supports. */
function fewStatement(filter: EventFilter, isRare: boolean, after: Cursor | undefined, limit: number): SQL {
  const { q } = filter;
  const conditions = sql`${listed(filter)} and ${isAfter(after)}`;
  if (q === undefined || !isRare) {
    // `offset 0` makes Postgres begin with the effects instead of the newest events, because it can't know how old the
    // events with effects are.
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
      -- Makes Postgres begin with the ids instead of the newest events, because it can't know how old these are.
      offset 0
    ) as found
    order by received_at desc, source desc, event_id desc limit ${limit}`;
}

/**
 * The statement that looks at `look` events. `end` is the receipt time of the last one, or null if there are no more.
 * All events of that time are included. Returns a row with `end` even if no event matches.
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
 * The CTE `seen_sources`: the sources of all events, including sources that are no longer configured. It jumps from
 * source to source in the primary key, because a `select distinct` would read the whole index. Needs `with recursive`.
 */
export const seenSources: SQL = sql`seen_sources as (
      (select ${events.source} as source from ${events} order by ${events.source} limit 1)
      union all
      select (
        select ${events.source} from ${events} where ${events.source} > seen_sources.source
        order by ${events.source} limit 1
      ) from seen_sources where seen_sources.source is not null
    )`;

/** Postgres's largest integer, to read a whole text. */
const WHOLE = 2_147_483_647;

/** Loads an event with at most `maxBody` characters of its body. `undefined` if there is no such event. */
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
