// What an operator does: retry, discard and rerun.
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Database, run } from './client.ts';
import type { EffectKey, EventKey } from './keys.ts';
import { type ActionName, bodies, effects, events } from './schema.ts';
import { at, columnNames, lockName } from './sql.ts';
import { type EventFilter, matches } from './views.ts';

export interface OperatorAction {
  readonly action: ActionName;
  readonly filter: EventFilter;
  /** Nothing is changed if another number of events matches: the operator has seen this number, and no other. */
  readonly expected?: number | undefined;
  /** For a rerun: nothing is changed if the event has run again since the operator saw that it was finished then. */
  readonly finishedAt?: Date | undefined;
  /** To discard, it is needed: it is all that will be left to say why. */
  readonly reason?: string | undefined;
  /** For a rerun. */
  readonly sendEffectsAgain: boolean;
  /** Kept in the event's `actions`, with the action and its reason. */
  readonly who: string;
  readonly at: Date;
}

export type ActionResult =
  | {
      readonly outcome: 'changed';
      readonly events: number;
      readonly effects: number;
      /** Those that need a ticket now: MAX_KEYS of each at most. */
      readonly eventKeys: readonly EventKey[];
      readonly effectKeys: readonly EffectKey[];
    }
  | { readonly outcome: 'unexpected'; readonly matching: number };

/** 200 calls of a queue, which take a few seconds. The sweep sends the tickets of the rest: all are due. */
const MAX_KEYS = 20_000;

export async function runAction(db: Database, operation: OperatorAction): Promise<ActionResult> {
  const { expected = null } = operation;
  const [row] = await run<Row>(
    db,
    sql`
    with ${targetOf(operation, LOCKED)},
    checked as (
      select matching, ${expected}::int is null or matching = ${expected}::int as as_expected
      from (select count(*)::int as matching from target) as counted
    ),
    ${changesOf(operation)}
    select checked.matching, checked.as_expected,
      (select count(*)::int from changed_events) as events,
      (select count(*)::int from changed_effects) as effects,
      (select coalesce(json_agg(json_build_array(source, event_id)), '[]')
       from (select * from changed_events limit ${MAX_KEYS}) as listed) as event_keys,
      (select coalesce(json_agg(json_build_array(source, event_id, name)), '[]')
       from (select * from changed_effects limit ${MAX_KEYS}) as listed) as effect_keys
    from checked`,
  );
  if (!row?.as_expected) return { outcome: 'unexpected', matching: row?.matching ?? 0 };
  return {
    outcome: 'changed',
    events: row.events,
    effects: row.effects,
    eventKeys: row.event_keys.map(([source, eventId]) => ({ source, eventId })),
    effectKeys: row.effect_keys.map(([source, eventId, name]) => ({ source, eventId, name })),
  };
}

interface Row {
  readonly matching: number;
  readonly as_expected: boolean;
  readonly events: number;
  readonly effects: number;
  readonly event_keys: readonly [string, string][];
  readonly effect_keys: readonly [string, string, string][];
}

/** How many events an action would change. */
export async function countMatching(db: Database, action: ActionName, filter: EventFilter): Promise<number> {
  const [row] = await run<{ matching: number }>(
    db,
    sql`with ${targetOf({ action, filter }, UNLOCKED)} select count(*)::int as matching from target`,
  );
  return row?.matching ?? 0;
}

/** How the rows that an action is about are read. Only a change locks them: that writes to every row. */
interface Locks {
  readonly ofEvents: SQL;
  readonly ofEffects: SQL;
}
const LOCKED: Locks = {
  ofEvents: sql`for update of ${lockName(events)}`,
  ofEffects: sql`for update of ${lockName(effects)}`,
};
const UNLOCKED: Locks = { ofEvents: sql``, ofEffects: sql`` };

type Target = Pick<OperatorAction, 'action' | 'filter' | 'finishedAt'>;

/** The CTEs that find what an action is about. All end with its events, as `target`. */
function targetOf({ action, filter, finishedAt }: Target, locks: Locks): SQL {
  return action === 'rerun' ? finishedTarget(filter, finishedAt, locks) : parkedTarget(filter, locks);
}

/** Two lists, because each has an index of what is parked, and fails on its own. An `or` would read the whole table. */
function parkedTarget({ failure, ...filter }: EventFilter, { ofEvents, ofEffects }: Locks): SQL {
  const hasFailed = (column: PgColumn) => (failure === undefined ? sql`true` : sql`${column} = ${failure}`);
  return sql`
    parked_events as (
      select ${events.source} as source, ${events.eventId} as event_id from ${events}
      where ${events.status} = 'parked' and ${hasFailed(events.failure)} and ${matches(filter)}
      ${ofEvents}
    ),
    parked_effects as (
      select ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'parked' and ${hasFailed(effects.failure)} and ${matches(filter)}
      ${ofEffects}
    ),
    target as (select source, event_id from parked_events union select source, event_id from parked_effects)`;
}

/** Finished events that can run again: their bodies are still there. */
function finishedTarget(filter: EventFilter, finishedAt: Date | undefined, { ofEvents }: Locks): SQL {
  // What we show of times ends with the milliseconds.
  const asSeen = finishedAt ? sql`date_trunc('milliseconds', ${events.finishedAt}) = ${at(finishedAt)}` : sql`true`;
  return sql`target as (
      select ${events.source} as source, ${events.eventId} as event_id
      from ${events} join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${events.source}, ${events.eventId})
      -- Discarded events are ignored as well, but were never completed: they stay discarded.
      where ${events.status} in ('done', 'ignored') and ${events.completions} = 1
        and ${asSeen} and ${matches(filter)}
      ${ofEvents}
    )`;
}

const eventColumn = columnNames(events);
const effectColumn = columnNames(effects);

/** The CTEs that change it, if the number of events is as expected: `changed_events` and `changed_effects`. */
function changesOf(operation: OperatorAction): SQL {
  switch (operation.action) {
    case 'retry':
      return retry(operation);
    case 'discard':
      return discard(operation);
    case 'rerun':
      return rerun(operation);
  }
}

/** The action is added to those before it. */
function noteAction({ at: time, who, action, reason }: OperatorAction): SQL {
  const entry = JSON.stringify({ at: time.toISOString(), who, action, reason: reason ?? null });
  return sql`${eventColumn.actions} = coalesce(${events.actions}, '[]') || ${entry}::jsonb`;
}

const keyIn = (row: string) => sql.raw(`${row}.source, ${row}.event_id`);
const isEvent = (row: string) => sql`(${events.source}, ${events.eventId}) = (${keyIn(row)})`;
const isEffect = sql`
        (${effects.source}, ${effects.eventId}, ${effects.name}) = (${keyIn('parked_effects')}, parked_effects.name)`;
const returningEvent = sql`returning ${events.source} as source, ${events.eventId} as event_id`;
const returningEffect = sql`
      returning ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name`;

/** Gives parked events, and parked effects, all their attempts back. Their tickets are for the caller to send. */
function retry(operation: OperatorAction): SQL {
  const now = at(operation.at);
  return sql`
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.attempts} = 0, ${eventColumn.dueAt} = ${now},
        ${eventColumn.notBefore} = null, ${eventColumn.finishedAt} = null, ${noteAction(operation)}
      from parked_events, checked where as_expected and ${isEvent('parked_events')}
      ${returningEvent}
    ),
    changed_effects as (
      update ${effects} set
        ${effectColumn.status} = 'pending', ${effectColumn.attempts} = 0, ${effectColumn.dueAt} = ${now},
        ${effectColumn.notBefore} = null
      from parked_effects, checked where as_expected and ${isEffect}
      ${returningEffect}
    ),
    noted as (
      update ${events} set ${noteAction(operation)}
      from (select * from target except select * from parked_events) as only_effects, checked
      where as_expected and ${isEvent('only_effects')}
    )`;
}

/**
 * Discards parked events for a reason, which is kept. They become ignored, and their error stays readable.
 * A parked effect is deleted, and its event's summary says so.
 */
function discard(operation: OperatorAction): SQL {
  const reason = operation.reason ?? '';
  return sql`
    changed_effects as (
      delete from ${effects} using parked_effects, checked where as_expected and ${isEffect}
      ${returningEffect}
    ),
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'ignored', ${eventColumn.summary} = ${`discarded: ${reason}`}, ${noteAction(operation)}
      from parked_events, checked where as_expected and ${isEvent('parked_events')}
      ${returningEvent}
    ),
    noted as (
      update ${events} set
        ${eventColumn.summary} = concat_ws(', ', ${events.summary}, 'discarded ' || gone.names || ': ' || ${reason}::text),
        ${noteAction(operation)}
      from (
        select source, event_id, string_agg(name, ', ') as names from changed_effects
        where (source, event_id) not in (select * from parked_events) group by 1, 2
      ) as gone
      where ${isEvent('gone')}
    )`;
}

/**
 * Makes finished events pending, so that their handlers run once more: their changes are made a second time.
 * Effects that were enqueued before stay as they are, and the rerun can't add them again. With `sendEffectsAgain` they
 * are deleted first, and sent again with the same idempotency keys as before.
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
        ${eventColumn.summary} = null, ${eventColumn.failure} = null, ${eventColumn.lastError} = null,
        ${eventColumn.failedPaths} = null, ${noteAction(operation)}
      from target, checked where as_expected and ${isEvent('target')}
      ${returningEvent}
    ),
    -- The handler asks for its effects, so none of them needs a ticket now.
    changed_effects as (select null as source, null as event_id, null as name where false)`;
}
