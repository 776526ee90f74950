// An operator's actions: retry, discard and rerun.
import { type SQL, sql } from 'drizzle-orm';
import * as v from 'valibot';
import { type Database, run } from './client.ts';
import { type EventFilter, failedFor, matches } from './filter.ts';
import type { EffectKey, EventKey } from './keys.ts';
import { type ActionName, bodies, effects, events, FAILURES, itsBody, itsEvent, type WorkTable } from './schema.ts';
import { at, columnNames, lockName } from './sql.ts';
import { Count } from './views.ts';

export interface OperatorAction {
  readonly action: ActionName;
  readonly filter: EventFilter;
  /**
   * The value from loadMatching. If other events match by now, nothing is changed, because the operator hasn't seen
   * them.
   */
  readonly expected?: string | undefined;
  /**
   * The `finished_at` that the operator saw, for the rerun of one event. If the event has run again since, nothing is
   * changed.
   */
  readonly finishedAt?: Date | undefined;
  /** Required for a discard, because nothing else records why. */
  readonly reason?: string | undefined;
  /** Only for a rerun. */
  readonly sendEffectsAgain: boolean;
  /** Recorded in the event's `actions`, with the action and its reason. */
  readonly who: string;
  readonly at: Date;
}

/** How many events and effects an action has changed. */
export const ActionCounts = v.strictObject({ events: Count, effects: Count });
export type ActionCounts = v.InferOutput<typeof ActionCounts>;

interface Changes extends ActionCounts {
  /** The order keys of discarded events, whose next events can be worked now. */
  readonly lines: readonly { readonly source: string; readonly orderKey: string }[];
  /** The events and effects that need a ticket now, at most MAX_KEYS of each. */
  readonly eventKeys: readonly EventKey[];
  readonly effectKeys: readonly EffectKey[];
}

export type ActionResult =
  | (Changes & {
      readonly outcome: 'changed';
      /** When the first and the last of the changed events were received, if any were changed. */
      readonly received: readonly [from: Date, to: Date] | undefined;
    })
  | { readonly outcome: 'unexpected' | 'too_many'; readonly matching: number };

/** The most events of one rerun. A mistaken rerun makes changes twice, and no index finds finished events. */
export const MAX_RERUN = 5000;

/** Sending this many tickets takes 200 calls and a few seconds. The sweep sends the other tickets. */
const MAX_KEYS = 20_000;

export async function runAction(db: Database, operation: OperatorAction): Promise<ActionResult> {
  const { action, expected = null } = operation;
  const [row] = await run<
    Changes & { matching: number; as_expected: boolean; first: string | null; last: string | null }
  >(
    db,
    sql`
    with ${targetOf(operation, true)},
    checked as (
      select matching, coalesce(expected = ${expected}, true)
        and (${action !== 'rerun'} or matching <= ${MAX_RERUN}) as as_expected
      from (select count(*)::int as matching, ${EXPECTED} as expected from target) as counted
    ),
    ${CHANGES[action](operation)}
    select checked.matching, checked.as_expected,
      (select count(*)::int from changed_events) as events,
      (select count(*)::int from changed_effects) as effects,
      (select min(received_at) from noted) as first,
      (select max(received_at) from noted) as last,
      (select coalesce(json_agg(distinct jsonb_build_object('source', source, 'orderKey', order_key)), '[]')
       from changed_events where order_key is not null and ${action === 'discard'}) as lines,
      (select coalesce(json_agg(json_build_object('source', source, 'eventId', event_id)), '[]')
       from (select * from changed_events limit ${MAX_KEYS}) as listed) as "eventKeys",
      (select coalesce(json_agg(json_build_object('source', source, 'eventId', event_id, 'name', name)), '[]')
       from (select * from changed_effects limit ${MAX_KEYS}) as listed) as "effectKeys"
    from checked`,
  );
  const matching = row?.matching ?? 0;
  if (action === 'rerun' && matching > MAX_RERUN) return { outcome: 'too_many', matching };
  if (!row?.as_expected) return { outcome: 'unexpected', matching };
  const { events, effects, lines, eventKeys, effectKeys, first, last } = row;
  const received = first && last ? ([new Date(first), new Date(last)] as const) : undefined;
  return { outcome: 'changed', events, effects, lines, eventKeys, effectKeys, received };
}

/** The events that an action would change. */
export const Matching = v.strictObject({
  matching: v.pipe(Count, v.description(`Events. More than ${MAX_RERUN} cannot be run again at a time`)),
  expected: v.pipe(v.string(), v.description('Send it with the action: nothing is changed if other events match then')),
  groups: v.array(
    v.strictObject({
      source: v.string(),
      failure: v.nullable(v.picklist(FAILURES)),
      events: Count,
      effects: Count,
      event_ids: v.pipe(v.array(v.string()), v.description('The first five')),
      others: v.pipe(Count, v.description('How many events are not among the first five')),
    }),
  ),
});
export type Matching = v.InferOutput<typeof Matching>;

/** Loads what an action would change, by source and failure. */
export async function loadMatching(db: Database, action: ActionName, filter: EventFilter): Promise<Matching> {
  const [row] = await run<Matching>(
    db,
    sql`
    with ${targetOf({ action, filter }, false)},
    grouped as (
      select source, failure, sum(event)::int as events, sum(1 - event)::int as effects,
        (array_agg(distinct event_id))[1:5] as event_ids, greatest(0, cardinality(array_agg(distinct event_id)) - 5) as others
      from parts group by 1, 2
    )
    select count(*)::int as matching, ${EXPECTED} as expected,
      (select coalesce(json_agg(grouped order by events + effects desc), '[]') from grouped) as groups
    from target`,
  );
  return row as Matching;
}

/**
 * A hash of the events that an action is about. Their number is not enough, because other events may have replaced
 * them.
 */
const EXPECTED = sql`(select concat(count(*), '-', to_hex(bit_xor(hash))) from parts)`;

type Target = Pick<OperatorAction, 'action' | 'filter' | 'finishedAt'>;

/**
 * The CTEs that find the rows of an action: `target` has its events, and `parts` each event and effect that it changes,
 * with a hash that changes if the event fails or runs again. Rows are locked only for a change, because a lock writes
 * to each row.
 */
function targetOf({ action, filter, finishedAt }: Target, isChange: boolean): SQL {
  const lock = (table: WorkTable) => (isChange ? sql`for update of ${lockName(table)}` : sql``);
  return action === 'rerun' ? finishedTarget(filter, finishedAt, lock) : parkedTarget(action, filter, lock);
}

type Lock = (table: WorkTable) => SQL;

/** A discarded event has no completion. An event that its handler ignored has one. */
const IS_DISCARDED = sql`(${events.status} = 'ignored' and ${events.completions} = 0)`;

/**
 * Finds events and effects with two queries, because each table has its own index of parked rows; one query with an
 * `or` would read the whole table. A retry of one event also works if it waits for its next attempt or was discarded. A
 * retry of many events includes such events only if the filter says `pending` or `ignored`.
 */
function parkedTarget(action: ActionName, all: EventFilter, lock: Lock): SQL {
  const { failure, error, ...filter } = all;
  const why = { failure, error };
  const isOne = filter.source !== undefined && filter.q !== undefined;
  const isStuck = (table: WorkTable, wanted: string | undefined) => {
    const isParked = sql`${table.status} = 'parked'`;
    // An effect for later has no attempts yet, so it doesn't wait for its next attempt.
    const hasFailed = table === effects ? sql`${effects.attempts} > 0` : sql`true`;
    const isWaiting = sql`(${table.status} = 'pending' and ${table.notBefore} is not null and ${hasFailed})`;
    const isDiscarded = table === events ? IS_DISCARDED : sql`false`;
    if (action !== 'retry') return isParked;
    if (isOne) return sql`(${isParked} or ${isWaiting} or ${isDiscarded})`;
    if (wanted === 'ignored') return isDiscarded;
    return wanted === 'pending' ? isWaiting : isParked;
  };
  return sql`
    parked_events as (
      select ${events.source} as source, ${events.eventId} as event_id, ${events.failure} as failure,
        ${events.finishedAt} as finished_at
      from ${events}
      where ${isStuck(events, filter.status)} and ${failedFor(events, why)} and ${matches(filter)}
      ${lock(events)}
    ),
    parked_effects as (
      select ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name,
        ${effects.failure} as failure
      from ${effects} join ${events} on ${itsEvent}
      where ${isStuck(effects, filter.effect_status)} and ${failedFor(effects, why)} and ${matches(filter)}
      ${lock(effects)}
    ),
    parts as (
      select source, event_id, failure, 1 as event, hash_record_extended((source, event_id, finished_at), 0) as hash
      from parked_events
      union all select source, event_id, failure, 0, hash_record_extended((source, event_id, name), 0) from parked_effects
    ),
    target as (select distinct source, event_id from parts)`;
}

/**
 * Finds finished events that can run again because their bodies still exist. Stops at MAX_RERUN + 1 events and at the
 * oldest body.
 */
function finishedTarget(filter: EventFilter, finishedAt: Date | undefined, lock: Lock): SQL {
  // The operator saw this time in milliseconds, but Postgres stores microseconds.
  const asSeen = finishedAt ? sql`date_trunc('milliseconds', ${events.finishedAt}) = ${at(finishedAt)}` : sql`true`;
  return sql`target as (
      select ${events.source} as source, ${events.eventId} as event_id, ${events.finishedAt} as finished_at from ${events}
      -- Discarded events were never completed, so they can be retried instead.
      where ${events.status} in ('done', 'ignored') and ${events.completions} = 1
        and ${events.receivedAt} >= (select min(${bodies.receivedAt}) from ${bodies}) and ${asSeen} and ${matches(filter)}
        and exists (select from ${bodies} where ${itsBody} offset 0)
      order by ${events.receivedAt} desc limit ${MAX_RERUN + 1}
      ${lock(events)}
    ),
    parts as (
      select source, event_id, null as failure, 1 as event, hash_record_extended((source, event_id, finished_at), 0) as hash
      from target
    )`;
}

const eventColumn = columnNames(events);
const effectColumn = columnNames(effects);

/** Appends the action to the event's earlier actions. */
function noteAction({ at: time, who, action, reason }: OperatorAction, more: SQL): SQL {
  const entry = JSON.stringify({ at: time.toISOString(), who, action, reason: reason ?? null });
  return sql`${eventColumn.actions} = coalesce(${events.actions}, '[]') || (${entry}::jsonb || ${more})`;
}

/** In characters. Each action keeps the previous error, and its beginning is enough to recognize it. */
const MAX_PAST_ERROR = 200;

/** The values that an action overwrites, for the event's history. */
const WAS = sql`jsonb_build_object('was', jsonb_build_object('status', ${events.status},
          'finished_at', ${events.finishedAt}, 'attempts', ${events.attempts},
          'error', left(${events.lastError}, ${MAX_PAST_ERROR})))`;

const keyIn = (row: string) => sql.raw(`${row}.source, ${row}.event_id`);
const isEvent = (row: string) => sql`(${events.source}, ${events.eventId}) = (${keyIn(row)})`;
const isEffect = sql`
        (${effects.source}, ${effects.eventId}, ${effects.name}) = (${keyIn('parked_effects')}, parked_effects.name)`;
const returningEvent = sql`
      returning ${events.source} as source, ${events.eventId} as event_id, ${events.receivedAt} as received_at,
        ${events.orderKey} as order_key`;
const returningEffect = sql`
      returning ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name`;

/** The names of the effects that an action changes. Other effects of the same event stay unchanged. */
const NAMED_EFFECTS = sql`
    named_effects as (
      select source, event_id, string_agg(name, ', ') as names, jsonb_build_object('effects', jsonb_agg(name)) as named
      from parked_effects group by 1, 2
    )`;
/** Selects events whose effects an action changes, but not the events themselves. */
const ofEffectsAlone = sql`
      from named_effects, checked where as_expected and ${isEvent('named_effects')}
        and not exists (select from parked_events where ${isEvent('parked_events')})
      ${returningEvent}`;
const ALL_NOTED = sql`noted as (select * from changed_events union all select * from noted_only)`;

/**
 * Makes events and effects pending and resets their attempts. The caller sends their tickets. The summary is cleared:
 * for a discarded event it is the reason, which `actions` keep.
 */
function retry(operation: OperatorAction): SQL {
  const now = at(operation.at);
  return sql`
    ${NAMED_EFFECTS},
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.attempts} = 0, ${eventColumn.dueAt} = ${now},
        ${eventColumn.notBefore} = null, ${eventColumn.failingSince} = null, ${eventColumn.finishedAt} = null,
        ${eventColumn.summary} = null, ${noteAction(operation, sql`${WAS} || coalesce(named, '{}')`)}
      from parked_events left join named_effects using (source, event_id), checked
      where as_expected and ${isEvent('parked_events')}
      ${returningEvent}
    ),
    changed_effects as (
      update ${effects} set
        ${effectColumn.status} = 'pending', ${effectColumn.attempts} = 0, ${effectColumn.dueAt} = ${now},
        ${effectColumn.notBefore} = null, ${effectColumn.failingSince} = null
      from parked_effects, checked where as_expected and ${isEffect}
      ${returningEffect}
    ),
    noted_only as (update ${events} set ${noteAction(operation, sql`named`)} ${ofEffectsAlone}),
    ${ALL_NOTED}`;
}

/**
 * Discards parked events and records the reason. They become ignored and keep their error. `finished_at` is set to now,
 * so that their bodies are kept for another BODY_DAYS and a retry is possible. A parked effect is deleted, and its
 * event's summary says so.
 */
function discard(operation: OperatorAction): SQL {
  const reason = operation.reason ?? '';
  return sql`
    ${NAMED_EFFECTS},
    changed_effects as (
      delete from ${effects} using parked_effects, checked where as_expected and ${isEffect}
      ${returningEffect}
    ),
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'ignored', ${eventColumn.summary} = ${`discarded: ${reason}`},
        ${eventColumn.finishedAt} = ${at(operation.at)}, ${noteAction(operation, WAS)}
      from parked_events, checked where as_expected and ${isEvent('parked_events')}
      ${returningEvent}
    ),
    noted_only as (
      update ${events} set
        ${eventColumn.summary} = concat_ws(', ', ${events.summary}, 'discarded ' || names || ': ' || ${reason}::text),
        ${noteAction(operation, sql`named`)} ${ofEffectsAlone}
    ),
    ${ALL_NOTED}`;
}

/**
 * Makes finished events pending, so that their handlers run again and make their changes a second time. Existing
 * effects stay unchanged, and the rerun can't add them again. With `sendEffectsAgain`, they are deleted first and so
 * sent again with the same idempotency keys.
 */
function rerun(operation: OperatorAction): SQL {
  return sql`
    deleted_effects as (
      delete from ${effects} using target, checked
      where as_expected and ${operation.sendEffectsAgain}
        and (${effects.source}, ${effects.eventId}) = (target.source, target.event_id)
      returning 1
    ),
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.completions} = 0, ${eventColumn.attempts} = 0,
        ${eventColumn.dueAt} = ${at(operation.at)}, ${eventColumn.notBefore} = null, ${eventColumn.finishedAt} = null,
        ${eventColumn.failingSince} = null, ${eventColumn.summary} = null, ${eventColumn.failure} = null, ${eventColumn.lastError} = null,
        ${eventColumn.failedPaths} = null, ${eventColumn.position} = null, ${noteAction(operation, WAS)}
      from target, checked where as_expected and ${isEvent('target')}
      ${returningEvent}
    ),
    noted as (select * from changed_events),
    -- The next run of the handler enqueues its effects, so no effect needs a ticket now.
    changed_effects as (select null as source, null as event_id, null as name where false)`;
}

/**
 * The CTEs of each action: `changed_events`, `changed_effects`, and `noted` with every event whose `actions` grew. They
 * change nothing if the events are not the expected ones.
 */
const CHANGES: Readonly<Record<ActionName, (operation: OperatorAction) => SQL>> = { retry, discard, rerun };
