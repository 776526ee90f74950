// The outbox: every statement about `webhooks.effects`, except those of the sweep and of the operator.
import { type SQL, sql } from 'drizzle-orm';
import { MAX_DELAY_SECONDS } from '../shared/runtime.ts';
import { type Database, run } from './client.ts';
import type { EffectKey } from './keys.ts';
import {
  type Answers,
  IS_NOTED,
  type KindLimit,
  type NextEffect,
  noteAnswers,
  type PauseState,
  placeLimited,
  statesOf,
  takeProbes,
} from './pauses.ts';
import {
  bodies,
  cancellations,
  effects,
  events,
  type Failure,
  itsEvent,
  pauses,
  sendableSince,
  TICKET_GRACE_MS,
} from './schema.ts';
import { at, columnNames, EFFECT_KEY, lockName, rowsOf } from './sql.ts';

export interface LoadedEffect extends EffectKey {
  /** Another one if a rerun has deleted the effect and added it again. */
  readonly generation: string;
  readonly kind: string;
  readonly payload: string;
  readonly status: (typeof effects.status.enumValues)[number];
  readonly attempts: number;
  readonly notBefore: Date | null;
  readonly isCancelled: boolean;
  /** Whether a consumer started it in a group of redelivered tickets, and never finished that group. */
  readonly neverEnded: boolean;
  /** From the event's delivery. Null if that had none, or if the body has been pruned, together with its headers. */
  readonly traceparent: string | null;
  readonly host: string | null;
  readonly failingSince: Date | null;
  /** When a call of its kind to its host has last succeeded, if it has failed. */
  readonly okAt: Date | null;
  /** The hosts of its kind that are paused, and whether an operator has paused them. */
  readonly paused: Readonly<Record<string, boolean>> | null;
  /** Whether what becomes of it may end a pause, or send others. */
  readonly isNoted: boolean;
  /** Whether it may be sent although its host is paused. */
  readonly isProbe: boolean;
  /** Whether it may be sent now, if its kind is limited. `new`: the kind had no row yet, so it must be loaded again. */
  readonly place: 'goes' | 'waits' | 'new' | null;
  /** When it may be sent, if its kind has a limit per second. */
  readonly slotAt: Date | null;
  /** Since when it could have been sent. Null unless it was asked for. */
  readonly sendableSince: Date | null;
}

/** What a run that loads effects is going to do with them. */
export interface RunOfEffects {
  readonly id: string;
  readonly now: Date;
  /** See `loadEvents`. */
  readonly begun?: Date | undefined;
  readonly limits: readonly KindLimit[];
  /** When the calls of the run have ended, whatever becomes of it. */
  readonly until: Date;
  /** Whether a kind has `expiresAfter`. */
  readonly withAge: boolean;
}

/** How the call of a loaded effect ended. */
export interface EffectResult extends Pick<LoadedEffect, keyof EffectKey | 'generation' | 'attempts'> {
  readonly status: LoadedEffect['status'];
  /** Null for an effect that was sent. */
  readonly failure: Failure | null;
  readonly error: string | null;
  readonly position?: string | undefined;
  readonly maxAttempts?: number | undefined;
  /** A `pending` effect is tried again then, and not earlier. */
  readonly notBefore: Date | null;
  /** Why it waits without an attempt being counted. */
  readonly waits?: 'failing' | 'held' | undefined;
  /** The host that has failed, or that is paused. */
  readonly host?: string | null | undefined;
  /** Whether it has failed because of the other side, or waits because that has. */
  readonly isFailing?: boolean | undefined;
  /** The other side wants it not earlier, for longer than its host is paused. */
  readonly toldAt?: Date | undefined;
}

/** An effect as a handler returned it. */
export interface NewEffect extends EffectKey {
  readonly kind: string;
  readonly payload: unknown;
  /** Default: at once. */
  readonly sendAt?: Date | undefined;
  readonly cancelKey?: string | undefined;
}

/** What a handler takes back. */
export interface Cancellation {
  readonly source: string;
  readonly kind: string;
  readonly cancelKey: string;
}

const column = columnNames(effects);
const cancelColumn = columnNames(cancellations);

/**
 * An effect that is due later than a queue can delay its ticket gets one by the sweep, which comes every 15 minutes: so much
 * before its time, so that the ticket waits in the queue, and the effect is sent on time.
 */
const TICKET_AHEAD_MS = 20 * 60_000;

/** When the sweep should look at an effect: after its ticket should have come. */
function dueAtOf({ sendAt }: NewEffect, now: Date): Date {
  const isBeyondQueue = sendAt !== undefined && sendAt.getTime() - now.getTime() > MAX_DELAY_SECONDS * 1000;
  return new Date((sendAt ?? now).getTime() + (isBeyondQueue ? -TICKET_AHEAD_MS : TICKET_GRACE_MS));
}

/** Writes effects into the outbox, in the transaction that completes their events. A second run can't add them again. */
export function enqueueEffects(added: readonly NewEffect[], now: Date): SQL {
  return sql`
    insert into ${effects} (
      ${column.source}, ${column.eventId}, ${column.name}, ${column.kind}, ${column.payload}, ${column.dueAt},
      ${column.notBefore}, ${column.sendAt}, ${column.cancelKey}
    )
    select source, event_id, name, kind, payload, due_at, send_at, send_at, cancel_key
    from ${rowsOf('added', added, {
      ...EFFECT_KEY,
      kind: ['text', ({ kind }) => kind],
      payload: ['text', ({ payload }) => JSON.stringify(payload) ?? 'null'],
      due_at: ['timestamptz', (effect) => dueAtOf(effect, now)],
      send_at: ['timestamptz', ({ sendAt }) => sendAt ?? null],
      cancel_key: ['text', ({ cancelKey }) => cancelKey ?? null],
    })}
    -- Not of effect_key_once: an effect with the key of another one must not get lost without a word.
    on conflict (${column.source}, ${column.eventId}, ${column.name}) do nothing`;
}

/**
 * Cancels what has these keys and isn't sent. The rows stay as marks, for effects that are added later, or are being added by a
 * transaction that this one can't see: whoever sends an effect looks for its mark.
 */
export function cancelEffects(cancelled: readonly Cancellation[], now: Date): SQL {
  const keys = rowsOf('given', cancelled, {
    source: ['text', ({ source }) => source],
    kind: ['text', ({ kind }) => kind],
    cancel_key: ['text', ({ cancelKey }) => cancelKey],
  });
  return sql`
    with given as (select distinct * from ${keys}),
    marked as (
      insert into ${cancellations} (
        ${cancelColumn.source}, ${cancelColumn.kind}, ${cancelColumn.cancelKey}, ${cancelColumn.cancelledAt}
      )
      select source, kind, cancel_key, ${at(now)} from given order by 1, 2, 3
      on conflict do nothing
    ),
    unsent as (
      select ${effects.source} as source, ${effects.eventId} as event_id, ${effects.name} as name
      from given join ${effects}
        on (${effects.source}, ${effects.kind}, ${effects.cancelKey}) = (given.source, given.kind, given.cancel_key)
      where ${effects.status} in ('pending', 'parked')
      order by 1, 2, 3 for update of ${lockName(effects)}
    )
    update ${effects} set ${column.status} = 'cancelled' from unsent as key where ${isKey}`;
}

/** Loads the effects of a batch of tickets in one query. A run that sends them takes its turns and places in the same query. */
export async function loadEffects(
  db: Database,
  keys: readonly EffectKey[],
  begins?: RunOfEffects,
): Promise<LoadedEffect[]> {
  const isLimited = begins !== undefined && begins.limits.length > 0;
  const ctes = begins && [
    takeProbes(keys, begins.now),
    ...(isLimited ? [placeLimited(keys, begins.limits, { ...begins, run: begins.id })] : []),
    ...(begins.begun ? [beginEffects(keys, begins.begun, isLimited)] : []),
  ];
  const rows = await run<{
    [Key in keyof LoadedEffect]: Date extends LoadedEffect[Key] ? string | null : LoadedEffect[Key];
  }>(
    db,
    sql`
    ${ctes ? sql`with ${sql.join(ctes, sql`, `)}` : sql``}
    select ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name,
           ${effects.generation} as generation, ${effects.begunAt} is not null and ${effects.status} = 'pending' as "neverEnded",
           ${effects.kind} as kind, ${effects.payload} as payload, ${effects.status} as status,
           ${effects.attempts} as attempts, ${effects.notBefore} as "notBefore",
           ${effects.host} as host, ${effects.failingSince} as "failingSince",
           (select ${pauses.okAt} from ${pauses} where (${pauses.kind}, ${pauses.host}) = (${effects.kind}, ${effects.host})) as "okAt",
           (select json_object_agg(${pauses.host}, ${pauses.pausedBy} is not null) from ${pauses}
            where ${pauses.kind} = ${effects.kind} and ${pauses.pausedAt} is not null) as paused,
           ${IS_NOTED} as "isNoted",
           ${ctes ? IS_PROBE : sql`false`} as "isProbe",
           ${isLimited ? sql`case when placed.source is not null then case placed.goes when true then 'goes' when false then 'waits' else 'new' end end` : sql`null`} as place,
           ${isLimited ? sql`placed.slot_at` : sql`null`} as "slotAt",
           ${begins?.withAge ? sql`(select ${sendableSince} from ${events} where ${itsEvent})` : sql`null`} as "sendableSince",
           ${bodies.headers} ->> 'traceparent' as traceparent, ${cancellations.source} is not null as "isCancelled"
    from ${rowsOf('key', keys, EFFECT_KEY)} join ${effects} on ${isKey}
    left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${effects.source}, ${effects.eventId})
    left join ${cancellations} on (${cancellations.source}, ${cancellations.kind}, ${cancellations.cancelKey})
      = (${effects.source}, ${effects.kind}, ${effects.cancelKey})
    ${isLimited ? sql`left join placed on (placed.source, placed.event_id, placed.name) = (key.source, key.event_id, key.name)` : sql``}`,
  );
  const dateOf = (time: string | null) => (time === null ? null : new Date(time));
  return rows.map((row) => ({
    ...row,
    notBefore: dateOf(row.notBefore),
    failingSince: dateOf(row.failingSince),
    okAt: dateOf(row.okAt),
    slotAt: dateOf(row.slotAt),
    sendableSince: dateOf(row.sendableSince),
  }));
}

/** If a run loads several effects of one kind and host, the first one that is pending is the probe. */
const IS_PROBE = sql`
           exists (select from probing where (probing.kind, probing.host) = (${effects.kind}, ${effects.host}))
             and row_number() over (
               partition by ${effects.kind}, ${effects.host} order by ${effects.status} = 'pending' desc,
                 ${effects.notBefore} nulls first, ${effects.dueAt}) = 1`;

/** See `beginEvents`. */
function beginEffects(keys: readonly EffectKey[], begun: Date, isLimited: boolean): SQL {
  // A row is changed once in a statement at most.
  const goes = isLimited
    ? sql`and not exists (select from placed where not goes and (placed.source, placed.event_id, placed.name) = (key.source, key.event_id, key.name))`
    : sql``;
  return sql`begun as (
      update ${effects} set ${column.begunAt} = ${at(begun)}
      where (${effects.source}, ${effects.eventId}, ${effects.name}) in (
        select ${effects.source}, ${effects.eventId}, ${effects.name}
        from ${rowsOf('key', keys, EFFECT_KEY)} join ${effects} on ${isKey}
        where ${effects.status} = 'pending' and ${effects.begunAt} is null
          and coalesce(${effects.notBefore} <= ${at(begun)}, true) ${goes}
        for update of ${lockName(effects)} skip locked)
    )`;
}

/** What a run has learnt about the other sides. */
export interface RunResult {
  readonly id: string;
  readonly answers: readonly Answers[];
}

/** How the other sides are, and the waiting effects that get tickets. */
export interface NotedResults {
  readonly states: readonly PauseState[];
  readonly released: readonly NextEffect[];
}

/**
 * Counts an attempt of each effect and keeps its result. A sent effect stays sent, and a row that a rerun has written
 * meanwhile stays as it is: its payload was not the one that was sent. A row that is gone (discarded, or pruned with its
 * event) needs no result. So fewer rows than results are no error, and raising one would lose the other results.
 *
 * The number of attempts comes from what was loaded, so writing the same result twice counts one. Rows are locked in the
 * order of their keys, so that two batches with common effects can't deadlock.
 *
 * In the same statement it notes what the calls have shown of the other sides, if there is something to note. Returns how these
 * are now, and the waiting effects that the caller sends tickets for.
 */
export async function recordEffectResults(
  db: Database,
  results: readonly EffectResult[],
  now: Date,
  { id, answers }: RunResult = { id: '', answers: [] },
): Promise<NotedResults> {
  const isNoted = answers.length > 0;
  const rows = await run<Row>(
    db,
    sql`
    with given as (
      select * from ${rowsOf('given', results, {
        ...EFFECT_KEY,
        generation: ['uuid', ({ generation }) => generation],
        attempts: ['int', ({ attempts }) => attempts],
        status: ['text', ({ status }) => status],
        failure: ['text', ({ failure }) => failure],
        error: ['text', ({ error }) => error],
        position: ['text', ({ position }) => position ?? null],
        max_attempts: ['int', ({ maxAttempts }) => maxAttempts ?? null],
        not_before: ['timestamptz', ({ notBefore }) => notBefore],
        waits: ['text', ({ waits }) => waits ?? null],
        host: ['text', ({ host }) => host ?? null],
        is_failing: ['boolean', ({ isFailing = false }) => isFailing],
        told_at: ['timestamptz', ({ toldAt }) => toldAt ?? null],
      })}
    ),
    ${isNoted ? sql`${noteAnswers(answers, id, now, sql`select source, event_id, name from given`)},` : sql``}
    result as (
      select given.*, ${isNoted ? IS_STILL_PAUSED : sql`false`} as is_paused
      from given join ${effects} on ${isResult('given')}
      order by ${effects.source}, ${effects.eventId}, ${effects.name} for update of ${lockName(effects)}
    ),
    updated as (
      update ${effects} set
        ${column.attempts} = greatest(
          ${effects.attempts}, result.attempts + case when result.status = 'cancelled' or result.waits is not null then 0 else 1 end),
        ${column.begunAt} = null,
        ${column.status} = result.status,
        ${column.failure} = case when result.waits = 'held' then ${effects.failure} else result.failure end,
        ${column.lastError} = result.error,
        ${column.position} = result.position,
        ${column.maxAttempts} = result.max_attempts,
        ${column.notBefore} = case when is_paused then result.told_at else result.not_before end,
        ${column.dueAt} = case
          when is_paused then ${at(now)}
          when result.status = 'pending' then coalesce(result.not_before, ${at(now)}) + ${`${TICKET_GRACE_MS} milliseconds`}::interval
          else ${effects.dueAt} end,
        ${column.sentAt} = case when result.status = 'sent' then ${at(now)} end,
        -- What waits for its kind still knows its host.
        ${column.host} = case when result.host = '' then coalesce(${effects.host}, '') else coalesce(result.host, ${effects.host}) end,
        ${column.failingSince} = coalesce(${effects.failingSince}, case when is_failing then ${at(now)} end),
        ${column.slotAt} = null
      from result where ${isResult('result')} and (
        ${effects.status} = 'pending'
        -- Its call was on its way when it was cancelled.
        or (${effects.status} = 'cancelled' and result.status = 'sent'))
    )
    ${isNoted ? statesOf(now) : sql`select 1 where false`}`,
  );
  const states: PauseState[] = [];
  const released: NextEffect[] = [];
  for (const { source, eventId, name, at, nextProbe, ...row } of rows) {
    const { kind, host } = row;
    if (source !== null && eventId !== null && name !== null) {
      released.push({ kind, host, source, eventId, name, at: new Date(at) });
    } else states.push({ ...row, nextProbe: nextProbe === null ? null : new Date(nextProbe) });
  }
  return { states, released };
}

const IS_STILL_PAUSED = sql`given.waits is not null and exists (
        select from noted where (noted.kind, noted.host) = (${effects.kind}, given.host) and noted.paused_at is not null)`;

interface Row extends Omit<PauseState, 'nextProbe'> {
  readonly nextProbe: string | null;
  readonly source: string | null;
  readonly eventId: string | null;
  readonly name: string | null;
  readonly at: string;
}

function isResult(name: string): SQL {
  const row = sql.identifier(name);
  return sql`(${effects.source}, ${effects.eventId}, ${effects.name}, ${effects.generation})
        = (${row}.source, ${row}.event_id, ${row}.name, ${row}.generation)`;
}

/** Parks effects whose tickets the queue gave up. No attempt is counted. Effects that are sent, or gone, stay so. */
export async function parkEffects(
  db: Database,
  keys: readonly EffectKey[],
  { failure, error }: { readonly failure: Failure; readonly error: string },
): Promise<EffectKey[]> {
  return run<EffectKey>(
    db,
    sql`
    update ${effects} set ${column.status} = 'parked', ${column.failure} = ${failure}, ${column.lastError} = ${error},
      ${column.position} = null
    from ${rowsOf('key', keys, EFFECT_KEY)}
    where ${isKey} and ${effects.status} = 'pending'
    returning ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name`,
  );
}

const isKey = sql`(${effects.source}, ${effects.eventId}, ${effects.name}) = (key.source, key.event_id, key.name)`;
