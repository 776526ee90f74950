// The outbox: every statement about `webhooks.effects`, except those of the sweep and of the operator.
import { type SQL, sql } from 'drizzle-orm';
import { MAX_DELAY_SECONDS } from '../shared/runtime.ts';
import { type Database, run } from './client.ts';
import type { EffectKey } from './keys.ts';
import { bodies, cancellations, effects, type Failure, TICKET_GRACE_MS } from './schema.ts';
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
  /** Of the event's delivery. Null if it had none, or if the body has been pruned, together with its headers. */
  readonly traceparent: string | null;
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

/** Loads the effects of a batch of tickets in one query. `begun` is that of `loadEvents`. */
export async function loadEffects(db: Database, keys: readonly EffectKey[], begun?: Date): Promise<LoadedEffect[]> {
  const rows = await run<Omit<LoadedEffect, 'notBefore'> & { notBefore: string | null }>(
    db,
    sql`
    ${begun === undefined ? sql`` : beginEffects(keys, begun)}
    select ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name,
           ${effects.generation} as generation, ${effects.begunAt} is not null and ${effects.status} = 'pending' as "neverEnded",
           ${effects.kind} as kind, ${effects.payload} as payload, ${effects.status} as status,
           ${effects.attempts} as attempts, ${effects.notBefore} as "notBefore",
           ${bodies.headers} ->> 'traceparent' as traceparent, ${cancellations.source} is not null as "isCancelled"
    from ${rowsOf('key', keys, EFFECT_KEY)} join ${effects} on ${isKey}
    left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${effects.source}, ${effects.eventId})
    left join ${cancellations} on (${cancellations.source}, ${cancellations.kind}, ${cancellations.cancelKey})
      = (${effects.source}, ${effects.kind}, ${effects.cancelKey})`,
  );
  return rows.map((row) => ({ ...row, notBefore: row.notBefore === null ? null : new Date(row.notBefore) }));
}

/** See `beginEvents`. */
function beginEffects(keys: readonly EffectKey[], begun: Date): SQL {
  return sql`with begun as (
      update ${effects} set ${column.begunAt} = ${at(begun)}
      where (${effects.source}, ${effects.eventId}, ${effects.name}) in (
        select ${effects.source}, ${effects.eventId}, ${effects.name}
        from ${rowsOf('key', keys, EFFECT_KEY)} join ${effects} on ${isKey}
        where ${effects.status} = 'pending' and ${effects.begunAt} is null
          and coalesce(${effects.notBefore} <= ${at(begun)}, true)
        for update of ${lockName(effects)} skip locked)
    )`;
}

/**
 * Counts an attempt of each effect and keeps its result. A sent effect stays sent, and a row that a rerun has written
 * meanwhile stays as it is: its payload was not the one that was sent. A row that is gone (discarded, or pruned with its
 * event) needs no result. So fewer rows than results are no error, and raising one would lose the other results.
 *
 * The number of attempts comes from what was loaded, so writing the same result twice counts one. Rows are locked in the
 * order of their keys, so that two batches with common effects can't deadlock.
 */
export async function recordEffectResults(db: Database, results: readonly EffectResult[], now: Date): Promise<void> {
  await run(
    db,
    sql`
    with result as (
      select given.*
      from ${rowsOf('given', results, {
        ...EFFECT_KEY,
        generation: ['uuid', ({ generation }) => generation],
        attempts: ['int', ({ attempts }) => attempts],
        status: ['text', ({ status }) => status],
        failure: ['text', ({ failure }) => failure],
        error: ['text', ({ error }) => error],
        position: ['text', ({ position }) => position ?? null],
        max_attempts: ['int', ({ maxAttempts }) => maxAttempts ?? null],
        not_before: ['timestamptz', ({ notBefore }) => notBefore],
      })}
      join ${effects} on ${isResult('given')}
      order by ${effects.source}, ${effects.eventId}, ${effects.name} for update of ${lockName(effects)}
    )
    update ${effects} set
      ${column.attempts} = greatest(
        ${effects.attempts}, result.attempts + case when result.status = 'cancelled' then 0 else 1 end),
      ${column.begunAt} = null,
      ${column.status} = result.status,
      ${column.failure} = result.failure,
      ${column.lastError} = result.error,
      ${column.position} = result.position,
      ${column.maxAttempts} = result.max_attempts,
      ${column.notBefore} = result.not_before,
      ${column.dueAt} = coalesce(result.not_before + ${`${TICKET_GRACE_MS} milliseconds`}::interval, ${effects.dueAt}),
      ${column.sentAt} = case when result.status = 'sent' then ${at(now)} end
    from result where ${isResult('result')} and (
      ${effects.status} = 'pending'
      -- Its call was on its way when it was cancelled.
      or (${effects.status} = 'cancelled' and result.status = 'sent'))`,
  );
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
