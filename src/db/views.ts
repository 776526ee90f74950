// What an operator sees of events. The shapes are those of the API: docs/ops-api.json is made from them.
import { type SQL, sql } from 'drizzle-orm';
import * as v from 'valibot';
import { type Database, run } from './client.ts';
import type { EventKey } from './keys.ts';
import { ACTIONS, bodies, effects, events, FAILURES, type Failure } from './schema.ts';
import { at, isoOf } from './sql.ts';

/** The events that an operator means. A field that is not set doesn't restrict. */
export interface EventFilter {
  readonly source?: string | undefined;
  readonly eventId?: string | undefined;
  readonly status?: (typeof events.status.enumValues)[number] | undefined;
  readonly type?: string | undefined;
  readonly failure?: Failure | undefined;
  /** With an effect of this status. There is no `sent`: those are too many to be found by an index. */
  readonly effectStatus?: 'pending' | 'parked' | undefined;
  /** Received at or after. */
  readonly since?: Date | undefined;
  /** Received before. */
  readonly until?: Date | undefined;
}

const Time = v.pipe(v.string(), v.isoTimestamp());
const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const ListedEvent = v.strictObject({
  source: v.string(),
  event_id: v.string(),
  type: v.nullable(v.string()),
  status: v.picklist(events.status.enumValues),
  attempts: Count,
  failure: v.nullable(v.picklist(FAILURES)),
  last_error: v.nullable(v.string()),
  received_at: Time,
  finished_at: v.nullable(Time),
  due_at: Time,
});
export type ListedEvent = v.InferOutput<typeof ListedEvent>;

export const EffectDetails = v.strictObject({
  name: v.string(),
  kind: v.string(),
  status: v.picklist(effects.status.enumValues),
  attempts: Count,
  failure: v.nullable(v.picklist(FAILURES)),
  last_error: v.nullable(v.string()),
  due_at: Time,
  not_before: v.nullable(Time),
  sent_at: v.nullable(Time),
});

/** All that is known of an event. */
export const EventDetails = v.strictObject({
  ...ListedEvent.entries,
  occurred_at: v.nullable(Time),
  not_before: v.nullable(Time),
  failed_paths: v.pipe(
    v.nullable(v.array(v.string())),
    v.description('Of the failure schema: the paths in the body that do not match'),
  ),
  summary: v.nullable(v.string()),
  completions: Count,
  fingerprint: v.nullable(v.string()),
  replay_number: Count,
  actions: v.array(
    v.strictObject({ at: Time, who: v.string(), action: v.picklist(ACTIONS), reason: v.nullable(v.string()) }),
  ),
  body: v.pipe(v.nullable(v.string()), v.description('As it was received. Null if it has been pruned')),
  body_length: v.pipe(v.nullable(Count), v.description('The number of its characters')),
  headers: v.nullable(v.record(v.string(), v.string())),
  effects: v.array(EffectDetails),
});
export type EventDetails = v.InferOutput<typeof EventDetails>;

/** The place in the list after which the next page begins: the key of the last event. */
export interface Position {
  /** As Postgres writes it, with its microseconds. */
  readonly receivedAt: string;
  readonly source: string;
  readonly eventId: string;
}

/** The conditions of a filter on a row of `webhooks.events`. */
export function matches({ source, eventId, status, type, failure, effectStatus, since, until }: EventFilter): SQL {
  const conditions = [
    source === undefined ? undefined : sql`${events.source} = ${source}`,
    eventId === undefined ? undefined : sql`${events.eventId} = ${eventId}`,
    status === undefined ? undefined : sql`${events.status} = ${status}`,
    type === undefined ? undefined : sql`${events.type} = ${type}`,
    failure === undefined ? undefined : hasFailed(failure),
    effectStatus === undefined ? undefined : hasEffect(sql`${effects.status} = ${sql.raw(`'${effectStatus}'`)}`),
    since && sql`${events.receivedAt} >= ${at(since)}`,
    until && sql`${events.receivedAt} < ${at(until)}`,
  ];
  return sql.join([sql`true`, ...conditions.filter((condition) => condition !== undefined)], sql` and `);
}

/** An effect fails on its own, after its event is done. The unsent ones are few, and have indexes. */
function hasFailed(failure: Failure): SQL {
  const ofEffect = hasEffect(sql`${effects.status} in ('pending', 'parked') and ${effects.failure} = ${failure}`);
  return sql`(${events.failure} = ${failure} or ${ofEffect})`;
}

/** A status is part of the text, and not a parameter: only so can Postgres see that a partial index has all of them. */
function hasEffect(condition: SQL): SQL {
  return sql`(${events.source}, ${events.eventId}) in (
    select ${effects.source}, ${effects.eventId} from ${effects} where ${condition})`;
}

/**
 * A page of the events that match, newest first, and where the next one begins, if there is one. An event that arrives
 * meanwhile doesn't move the others to another page.
 *
 * No index has the order of this list, because every claim would pay for it. Parked and pending events and effects are
 * few, and have indexes of their own. A search by id uses the primary key. The rest is read in spans of time that become
 * longer and longer, until the page is full: usually the first one fills it.
 */
export async function listEvents(
  db: Database,
  filter: EventFilter,
  { after, limit, now }: { readonly after: Position | undefined; readonly limit: number; readonly now: Date },
): Promise<{ readonly events: readonly ListedEvent[]; readonly next: Position | undefined }> {
  const found = await run<ListedEvent>(db, pageStatement(filter, after, limit + 1, now));
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    events: page.map(withIsoTimes),
    next: last && { receivedAt: last.received_at, source: last.source, eventId: last.event_id },
  };
}

function withIsoTimes<Event extends ListedEvent>(event: Event): Event {
  const { received_at, finished_at, due_at } = event;
  return { ...event, received_at: isoOf(received_at), finished_at: isoOf(finished_at), due_at: isoOf(due_at) };
}

const LISTED = sql`${events.source} as source, ${events.eventId} as event_id, ${events.type} as type,
      ${events.status} as status, ${events.attempts} as attempts, ${events.failure} as failure,
      ${events.lastError} as last_error, ${events.receivedAt} as received_at, ${events.finishedAt} as finished_at,
      ${events.dueAt} as due_at`;

function pageStatement(filter: EventFilter, after: Position | undefined, limit: number, now: Date): SQL {
  const key = sql`(${events.receivedAt}, ${events.source}, ${events.eventId})`;
  const conditions = after
    ? sql`${matches(filter)} and ${key} < (${after.receivedAt}::timestamptz, ${after.source}, ${after.eventId})`
    : matches(filter);
  const newestFirst = sql`order by ${events.receivedAt} desc, ${events.source} desc, ${events.eventId} desc limit ${limit}`;

  if (filter.eventId !== undefined) {
    return sql`
    with recursive ${seenSources}
    select found.* from seen_sources cross join lateral (
      select ${LISTED} from ${events} where ${events.source} = seen_sources.source and ${conditions}
    ) as found
    order by received_at desc, source desc, event_id desc limit ${limit}`;
  }
  if (filter.status === 'parked' || filter.status === 'pending' || filter.effectStatus !== undefined) {
    return sql`select ${LISTED} from ${events} where ${conditions} ${newestFirst}`;
  }
  const { newest, oldest } = spansBefore(after ? new Date(after.receivedAt) : filter.until, now);
  return sql`
    select found.* from unnest(${sql.param(newest)}::timestamptz[], ${sql.param(oldest)}::timestamptz[]) as span (newest, oldest)
    cross join lateral (
      select ${LISTED} from ${events}
      where ${events.receivedAt} <= span.newest and ${events.receivedAt} > span.oldest and ${conditions}
      ${newestFirst}
    ) as found
    limit ${limit}`;
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

/** Shorter than most pages need. Each of the other spans is four times as long as all before it. */
const FIRST_SPAN_MS = 15 * 60_000;
const SPANS = 7;

/** Postgres can't read the times beyond these as JavaScript writes them. No event was received in such a year. */
const EARLIEST = 0;
const LATEST = Date.UTC(9999, 11, 31);

/**
 * Spans of time, newest first, without a gap: 15 minutes, an hour, 4, 16 and 64 hours and so on, and then all that is
 * older. The end of a span belongs to it, and so the first one has a millisecond more: Postgres counts microseconds.
 * Without a start, the first one has no end, because the clock of another Worker may be ahead.
 */
function spansBefore(start: Date | undefined, now: Date): { newest: string[]; oldest: string[] } {
  const from = start ? start.getTime() + 1 : now.getTime();
  const textOf = (time: number) => new Date(Math.min(Math.max(time, EARLIEST), LATEST)).toISOString();
  const ends = Array.from({ length: SPANS }, (_, n) => textOf(from - FIRST_SPAN_MS * 4 ** n));
  return { newest: [start ? textOf(from) : 'infinity', ...ends], oldest: [...ends, '-infinity'] };
}

/** All of a text: the largest integer of Postgres. */
const WHOLE = 2_147_483_647;

/** Undefined if there is no such event. `maxBody`: how many characters of its body are wanted. */
export async function loadDetails(
  db: Database,
  { source, eventId }: EventKey,
  maxBody = WHOLE,
): Promise<EventDetails | undefined> {
  const [row] = await run<EventDetails>(
    db,
    sql`
    select ${LISTED}, ${events.occurredAt} as occurred_at, ${events.notBefore} as not_before,
      ${events.failedPaths} as failed_paths, ${events.summary} as summary, ${events.completions} as completions,
      ${events.fingerprint} as fingerprint, ${events.replayNumber} as replay_number,
      coalesce(${events.actions}, '[]') as actions, ${bodies.headers} as headers,
      left(${bodies.body}, ${maxBody}) as body, length(${bodies.body}) as body_length,
      coalesce((
        select json_agg(json_build_object(
          'name', ${effects.name}, 'kind', ${effects.kind}, 'status', ${effects.status}, 'attempts', ${effects.attempts},
          'failure', ${effects.failure}, 'last_error', ${effects.lastError}, 'due_at', ${effects.dueAt},
          'not_before', ${effects.notBefore}, 'sent_at', ${effects.sentAt}
        ) order by ${effects.name})
        from ${effects} where (${effects.source}, ${effects.eventId}) = (${source}, ${eventId})
      ), '[]') as effects
    from ${events} left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${events.source}, ${events.eventId})
    where (${events.source}, ${events.eventId}) = (${source}, ${eventId})`,
  );
  return (
    row && {
      ...withIsoTimes(row),
      occurred_at: isoOf(row.occurred_at),
      not_before: isoOf(row.not_before),
      effects: row.effects.map((effect) => ({
        ...effect,
        due_at: isoOf(effect.due_at),
        not_before: isoOf(effect.not_before),
        sent_at: isoOf(effect.sent_at),
      })),
    }
  );
}
