// What the consumer does with events: load them, complete them, record that they failed.
import { type SQL, sql } from 'drizzle-orm';
import { commit, type Database, run } from './client.ts';
import { cancelEffects, enqueueEffects, type NewEffect } from './effects.ts';
import type { EventKey } from './keys.ts';
import { IS_FIRST, type LineRow, turnIsNot } from './order.ts';
import { FAILING_HOSTS, noteFailingHosts } from './pauses.ts';
import { bodies, events, type Failure, TICKET_GRACE_MS } from './schema.ts';
import { at, columnNames, EVENT_KEY, lockName, type Query, rowsOf } from './sql.ts';

const column = columnNames(events);

export interface LoadedEvent extends EventKey {
  /** The id as the provider sent it, if another event has it. */
  readonly originalId: string | null;
  readonly type: string | null;
  readonly occurredAt: Date | null;
  readonly receivedAt: Date;
  readonly status: (typeof events.status.enumValues)[number];
  readonly attempts: number;
  readonly failingSince: Date | null;
  /** The hosts that handlers have failed to call lately, and when a call to each has last succeeded. */
  readonly failingHosts: Readonly<Record<string, string | null>> | null;
  /** Why the last attempt failed, also after an operator's retry. */
  readonly failure: Failure | null;
  readonly notBefore: Date | null;
  /** Whether a consumer started it in a group of redelivered tickets, and never finished that group. */
  readonly neverEnded: boolean;
  readonly orderKey: string | null;
  readonly orderPlace: number | null;
  /** Whether a later event of its order key was worked before it, or it is run again. */
  readonly late: boolean;
  readonly hasBody: boolean;
  /** Null if it isn't needed, or not loaded this time. */
  readonly body: string | null;
  readonly headers: Record<string, string>;
}

/** A pending event whose body is loaded. */
export type WorkableEvent = LoadedEvent & { readonly status: 'pending'; readonly body: string };

export function isWorkable(event: LoadedEvent): event is WorkableEvent {
  return event.status === 'pending' && event.body !== null;
}

/**
 * The bodies and their parsed copies must fit into a Worker's 128 MB of memory together, and into an answer of Neon
 * (64 MB).
 */
export const MAX_LOADED_BYTES = 16 * 1024 * 1024;

/** The columns of a loaded event, without what depends on how it is loaded. */
export const LOADED = sql`
             ${events.source} as source, ${events.eventId} as "eventId", ${events.originalId} as "originalId",
             ${events.type} as type, ${events.occurredAt} as "occurredAt", ${events.receivedAt} as "receivedAt",
             ${events.notBefore} as "notBefore", ${events.begunAt} is not null as "neverEnded",
             ${events.status} as status, ${events.attempts} as attempts, ${events.failure} as failure,
             ${events.orderKey} as "orderKey", ${events.orderPlace} as "orderPlace",
             ${events.failingSince} as "failingSince", ${FAILING_HOSTS} as "failingHosts",
             ${bodies.headers} as headers, ${bodies.source} is not null as "hasBody"`;

export interface LoadedRow
  extends Omit<LoadedEvent, 'occurredAt' | 'receivedAt' | 'notBefore' | 'failingSince' | 'headers'> {
  readonly occurredAt: string | null;
  readonly receivedAt: string;
  readonly notBefore: string | null;
  readonly failingSince: string | null;
  readonly headers: Record<string, string> | null;
}

export function eventOf({ occurredAt, receivedAt, notBefore, failingSince, headers, ...row }: LoadedRow): LoadedEvent {
  return {
    ...row,
    occurredAt: dateOf(occurredAt),
    receivedAt: new Date(receivedAt),
    notBefore: dateOf(notBefore),
    failingSince: dateOf(failingSince),
    headers: headers ?? {},
  };
}

/**
 * Loads the events of a batch of tickets in one query, with the bodies of the pending ones. Once the bodies exceed
 * what memory can hold, the rest come without theirs: a batch of large events is worked in several goes. Events with an
 * order key come without theirs as well: their line is loaded next (order.ts).
 *
 * `begun` is the time at which a group of redelivered tickets is begun. It is written in the same query, and so only if
 * Postgres works: what is still there at the next delivery was not left behind by an outage.
 */
export async function loadEvents(db: Database, keys: readonly EventKey[], begun?: Date): Promise<LoadedEvent[]> {
  const size = sql`octet_length(${bodies.body})`;
  const sizeSoFar = sql`sum(${size}) over (order by ${events.source}, ${events.eventId})`;
  // Most batches of a quiet system have one ticket. Without the sum, Postgres plans the statement 15 % faster.
  const sizeBefore = keys.length === 1 ? sql`0` : sql`${sizeSoFar} - ${size}`;
  const rows = await run<LoadedRow>(
    db,
    sql`
    with ${begun === undefined ? sql`` : sql`${beginEvents(keys, begun)},`}
    loaded as (
      select ${LOADED}, ${bodies.body} as body, ${sizeBefore} as size_before
      from ${rowsOf('key', keys, EVENT_KEY)}
      join ${events} on (${events.source}, ${events.eventId}) = (key.source, key.event_id)
      left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (key.source, key.event_id)
    )
    select source, "eventId", "originalId", type, "occurredAt", "receivedAt", "notBefore", "neverEnded", status, attempts, failure,
           "orderKey", "orderPlace", "failingSince", "failingHosts", false as late, headers, "hasBody",
           case when status = 'pending' and "orderKey" is null and size_before < ${MAX_LOADED_BYTES} then body end as body
    from loaded`,
  );
  return rows.map(eventOf);
}

/**
 * The CTE that notes what is begun: what is due. The query around it sees the rows as they were. A row that is locked is
 * being written by somebody who knows how its work ended.
 */
function beginEvents(keys: readonly EventKey[], begun: Date): SQL {
  return sql`begun as (
      update ${events} set ${column.begunAt} = ${at(begun)}
      where (${events.source}, ${events.eventId}) in (
        select ${events.source}, ${events.eventId} from ${rowsOf('key', keys, EVENT_KEY)}
        join ${events} on (${events.source}, ${events.eventId}) = (key.source, key.event_id)
        where ${events.status} = 'pending' and ${events.begunAt} is null
          and coalesce(${events.notBefore} <= ${at(begun)}, true) and ${IS_FIRST}
        for update of ${lockName(events)} skip locked)
    )`;
}

export interface Completion extends EventKey {
  readonly status: 'done' | 'ignored';
  readonly summary: string;
  readonly statements: readonly Query[];
  readonly effects: readonly Omit<NewEffect, keyof EventKey>[];
  /** What it takes back. */
  readonly cancels?: readonly { readonly kind: string; readonly key: string }[];
}

/**
 * Groups that change the same rows commit one after the other, and `max_concurrency` allows ten at a time. 3 s lets ten
 * groups queue for one row, 0.3 s each. A group that waits longer is committed event by event.
 */
const GROUP_LOCK_TIMEOUT = '3s';

/**
 * Commits the work of events and their completions together: all of it, or nothing.
 *
 * The completions come first, so that a second run fails before it changes anything. An event that is no longer
 * pending (done by another consumer, parked or discarded meanwhile) breaks `completed_at_most_once` in the same way. If the
 * row of an event is gone, the count is wrong, and raises an error as well: `nth_value` refuses a 0, and its SQLSTATE is
 * of no other function. Rows are locked in the order of their keys: two batches that share events can't deadlock over them.
 *
 * Of events with order keys, `turns` is the first statement of all, and `look` the last one, whose rows are returned.
 */
export async function complete(
  db: Database,
  completed: readonly Completion[],
  now: Date,
  line?: { readonly turns: SQL; readonly look: SQL | undefined },
): Promise<LineRow[]> {
  const [first] = completed;
  const finished = first !== undefined && completed.length === 1 ? oneFinished(first) : lockedInOrder(completed);
  const completions = sql`
    with finished as (${finished}),
    completed as (
      update ${events} set
        ${column.completions} = ${events.completions} + case when ${events.status} = 'pending' then 1 else 2 end,
        ${column.status} = finished.status,
        ${column.summary} = finished.summary,
        ${column.finishedAt} = ${at(now)},
        ${column.attempts} = ${events.attempts} + 1,
        ${column.begunAt} = null,
        ${column.failure} = null, ${column.lastError} = null, ${column.failedPaths} = null, ${column.position} = null
      from finished where (${events.source}, ${events.eventId}) = (finished.source, finished.event_id)
      returning 1
    )
    select nth_value(1, 0) over () from completed having count(*) <> ${completed.length}`;
  const effects = completed.flatMap(({ source, eventId, effects }) =>
    effects.map((effect) => ({ ...effect, source, eventId })),
  );
  const cancelled = completed.flatMap(({ source, cancels = [] }) =>
    cancels.map(({ kind, key }) => ({ source, kind, cancelKey: key })),
  );
  const changes = [
    ...(line ? [line.turns] : []),
    completions,
    ...completed.flatMap(({ statements }) => statements),
    ...(effects.length > 0 ? [enqueueEffects(effects, now)] : []),
    ...(cancelled.length > 0 ? [cancelEffects(cancelled, now)] : []),
  ];
  if (completed.length === 1) return commit<LineRow>(db, changes, line?.look);
  const limit = sql`select set_config('lock_timeout', ${GROUP_LOCK_TIMEOUT}, true)`;
  return commit<LineRow>(db, [limit, ...changes], line?.look);
}

/** One row needs no order. With plain values and without the join, the statement takes 15 % less time. */
function oneFinished({ source, eventId, status, summary }: Completion): SQL {
  return sql`select ${source}::text as source, ${eventId}::text as event_id, ${status}::text as status, ${summary}::text as summary`;
}

function lockedInOrder(completed: readonly Completion[]): SQL {
  return sql`
      select given.*
      from ${rowsOf('given', completed, {
        ...EVENT_KEY,
        status: ['text', ({ status }) => status],
        summary: ['text', ({ summary }) => summary],
      })}
      join ${events} on (${events.source}, ${events.eventId}) = (given.source, given.event_id)
      order by ${events.source}, ${events.eventId} for update of ${lockName(events)}`;
}

/** An attempt of an event that failed. */
export interface FailedAttempt extends EventKey {
  readonly failure: Failure;
  readonly error: string;
  /** Of the failure `schema`. */
  readonly failedPaths: readonly string[] | null;
  readonly position?: string | undefined;
  readonly maxAttempts?: number | undefined;
  /** If not parked, the event is tried again, but not before `notBefore`. */
  readonly parked: boolean;
  /** Whether the later events of its order key, if it has one, wait for it while it is parked. Default: they do. */
  readonly holds?: boolean;
  /** That its order key, if it has one, had when it was loaded. Undefined: any. */
  readonly turn?: string | null | undefined;
  readonly notBefore: Date;
  /** The other side that may be at fault. */
  readonly otherSide?: { readonly host: string; readonly problem: string } | undefined;
  /** Whether it waits for the other side. Then no attempt is counted. */
  readonly waits?: boolean;
}

/**
 * Counts an attempt of each event and keeps why it failed. An event that is no longer pending stays as it is. One whose row
 * is gone has nothing to count: its ticket comes again, and finds nothing. If its order key was worked meanwhile, the handler
 * may have failed because of what it read, and nothing is counted.
 */
export async function recordFailures(db: Database, failed: readonly FailedAttempt[], now: Date): Promise<void> {
  const otherSides = failed.flatMap(({ otherSide }) => otherSide ?? []);
  await run(
    db,
    sql`
    ${otherSides.length > 0 ? sql`with ${noteFailingHosts(otherSides, now)}` : sql``}
    update ${events} set
      ${column.attempts} = ${events.attempts} + case when failed.waits then 0 else 1 end,
      ${column.failingSince} = coalesce(${events.failingSince}, case when failed.is_failing then ${at(now)} end),
      ${column.begunAt} = null,
      ${column.failure} = failed.failure,
      ${column.lastError} = failed.error,
      ${column.failedPaths} = failed.paths,
      ${column.position} = failed.position,
      ${column.maxAttempts} = failed.max_attempts,
      ${column.notBefore} = failed.not_before,
      ${column.dueAt} = failed.not_before + ${`${TICKET_GRACE_MS} milliseconds`}::interval,
      ${column.status} = case when failed.parked then 'parked' else ${events.status} end,
      ${column.finishedAt} = case when failed.parked then ${at(now)} end,
      ${column.holds} = case when ${events.orderKey} is not null and failed.parked then failed.holds end
    from ${rowsOf('failed', failed, {
      ...EVENT_KEY,
      failure: ['text', ({ failure }) => failure],
      error: ['text', ({ error }) => error],
      paths: ['jsonb', ({ failedPaths }) => failedPaths && JSON.stringify(failedPaths)],
      position: ['text', ({ position }) => position ?? null],
      max_attempts: ['int', ({ maxAttempts }) => maxAttempts ?? null],
      waits: ['boolean', ({ waits = false }) => waits],
      is_failing: ['boolean', ({ otherSide }) => otherSide !== undefined],
      parked: ['boolean', ({ parked }) => parked],
      holds: ['boolean', ({ holds = true }) => holds],
      not_before: ['timestamptz', ({ notBefore }) => notBefore],
      has_turn: ['boolean', ({ turn }) => turn !== undefined],
      turn: ['uuid', ({ turn }) => turn ?? null],
    })}
    where (${events.source}, ${events.eventId}) = (failed.source, failed.event_id) and ${events.status} = 'pending'
      and not (failed.has_turn and ${turnIsNot(sql`failed.turn`)})`,
  );
}

/** Parks events without another try. No attempt is counted. Events that are finished, or gone, stay so. */
export async function parkEvents(
  db: Database,
  given: readonly (EventKey & { readonly holds?: boolean })[],
  { failure, error }: { readonly failure: Failure; readonly error: string },
  now: Date,
): Promise<EventKey[]> {
  return run<EventKey>(
    db,
    sql`
    update ${events} set
      ${column.status} = 'parked', ${column.failure} = ${failure}, ${column.lastError} = ${error},
      ${column.failedPaths} = null, ${column.position} = null, ${column.finishedAt} = ${at(now)},
      ${column.holds} = case when ${events.orderKey} is not null then key.holds end
    from ${rowsOf('key', given, { ...EVENT_KEY, holds: ['boolean', ({ holds = true }) => holds] })}
    where (${events.source}, ${events.eventId}) = (key.source, key.event_id) and ${events.status} = 'pending'
    returning ${events.source} as source, ${events.eventId} as "eventId"`,
  );
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}
