// What the statements of an operator have in common: retry, discard and rerun.
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EventFilter, matches } from './filter.ts';
import type { EffectKey, EventKey } from './keys.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

/** Who did what to an event, and why. It is kept in the event's `actions`. */
export interface Action {
  readonly at: Date;
  readonly who: string;
  readonly action: 'retry' | 'discard' | 'rerun';
  readonly reason?: string | undefined;
}

export interface Operation {
  readonly filter: EventFilter;
  readonly action: Action;
  /** Nothing is changed if another number of events matches: the operator has seen this number, and no other. */
  readonly expected?: number | undefined;
}

export type Operated =
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

const eventColumn = columnNames(events);

/** Sets the column `actions` of an event: the action is added to those before it. */
export function noteAction({ at, who, action, reason }: Action): SQL {
  const entry = JSON.stringify({ at: at.toISOString(), who, action, reason: reason ?? null });
  return sql`${eventColumn.actions} = coalesce(${events.actions}, '[]') || ${entry}::jsonb`;
}

/**
 * The parked events and effects that match, as `parked_events` and `parked_effects`, and the events that either is
 * about, as `target`. Two lists, because each has an index of what is parked. An `or` would read the whole table.
 */
export function parkedTarget(filter: EventFilter): SQL {
  return sql`
    parked_events as (
      select ${events.source} as source, ${events.eventId} as event_id from ${events}
      where ${events.status} = 'parked' and ${matches(filter)}
      for update
    ),
    parked_effects as (
      select ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'parked' and ${matches(filter)}
      for update of ${effects}
    ),
    target as (select source, event_id from parked_events union select source, event_id from parked_effects)`;
}

/** Whether to go on, as `checked`: `target` has the number of events that the operator expects. */
export function checkedTarget(expected: number | undefined): SQL {
  return sql`checked as (
      select matching, ${expected ?? null}::int is null or matching = ${expected ?? null}::int as as_expected
      from (select count(*)::int as matching from target) as counted
    )`;
}

/** Runs the CTEs of an operation. They name the rows that they changed `changed_events` and `changed_effects`. */
export async function operate(db: Database, ctes: SQL): Promise<Operated> {
  const [row] = await run<Row>(
    db,
    sql`
    with ${ctes}
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

interface Row extends Record<string, unknown> {
  matching: number;
  as_expected: boolean;
  events: number;
  effects: number;
  event_keys: [string, string][];
  effect_keys: [string, string, string][];
}
