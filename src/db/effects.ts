// The outbox: every statement about `webhooks.effects`, except those of the sweep and of the operator.
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { type EffectKey, TICKET_GRACE_MS } from './keys.ts';
import { bodies, effects, type Failure } from './schema.ts';
import { at, columnNames, listOf } from './sql.ts';

export interface LoadedEffect extends EffectKey {
  readonly kind: string;
  readonly payload: string;
  readonly status: (typeof effects.status.enumValues)[number];
  readonly attempts: number;
  readonly notBefore: Date | null;
  /** Of the event's delivery. Null if it had none, or if the body has been pruned, together with its headers. */
  readonly traceparent: string | null;
}

export interface EffectResult extends EffectKey {
  readonly status: LoadedEffect['status'];
  /** Null for an effect that was sent. */
  readonly failure: Failure | null;
  readonly error: string | null;
  /** A `pending` effect is tried again then, and not earlier. */
  readonly notBefore: Date | null;
}

/** An effect as a handler returned it. */
export interface NewEffect extends EffectKey {
  readonly kind: string;
  readonly payload: unknown;
}

const column = columnNames(effects);

/** Writes effects into the outbox, in the transaction that completes their events. A second run can't add them again. */
export function enqueueEffects(added: readonly NewEffect[], now: Date): SQL {
  return sql`
    insert into ${effects} (
      ${column.source}, ${column.eventId}, ${column.name}, ${column.kind}, ${column.payload}, ${column.dueAt}
    )
    select added.*, ${at(new Date(now.getTime() + TICKET_GRACE_MS))}
    from unnest(${listOf(added, ({ source }) => source)}::text[], ${listOf(added, ({ eventId }) => eventId)}::text[],
                ${listOf(added, ({ name }) => name)}::text[], ${listOf(added, ({ kind }) => kind)}::text[],
                ${listOf(added, ({ payload }) => JSON.stringify(payload) ?? 'null')}::text[]) as added
    on conflict do nothing`;
}

/** Loads the effects of a batch of tickets in one query. */
export async function loadEffects(db: Database, keys: readonly EffectKey[]): Promise<LoadedEffect[]> {
  const rows = await run<Omit<LoadedEffect, 'notBefore'> & { notBefore: string | null }>(
    db,
    sql`
    select ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name,
           ${effects.kind} as kind, ${effects.payload} as payload, ${effects.status} as status,
           ${effects.attempts} as attempts, ${effects.notBefore} as "notBefore",
           ${bodies.headers} ->> 'traceparent' as traceparent
    from ${keysTable(keys)} join ${effects} on ${isKey}
    left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${effects.source}, ${effects.eventId})`,
  );
  return rows.map((row) => ({ ...row, notBefore: row.notBefore === null ? null : new Date(row.notBefore) }));
}

/** Counts an attempt of each effect and keeps its result. A sent effect stays sent. */
export async function recordEffectResults(db: Database, results: readonly EffectResult[], now: Date): Promise<void> {
  if (results.length === 0) return;
  await run(
    db,
    sql`
    update ${effects} set
      ${column.attempts} = ${effects.attempts} + 1,
      ${column.status} = result.status,
      ${column.failure} = result.failure,
      ${column.lastError} = result.error,
      ${column.notBefore} = result.not_before,
      ${column.dueAt} = coalesce(result.not_before + ${`${TICKET_GRACE_MS} milliseconds`}::interval, ${effects.dueAt}),
      ${column.sentAt} = case when result.status = 'sent' then ${at(now)} end
    from unnest(${listOf(results, ({ source }) => source)}::text[], ${listOf(results, ({ eventId }) => eventId)}::text[],
                ${listOf(results, ({ name }) => name)}::text[], ${listOf(results, ({ status }) => status)}::text[],
                ${listOf(results, ({ failure }) => failure)}::text[], ${listOf(results, ({ error }) => error)}::text[],
                ${listOf(results, ({ notBefore }) => notBefore)}::timestamptz[])
      as result (source, event_id, name, status, failure, error, not_before)
    where (${effects.source}, ${effects.eventId}, ${effects.name}) = (result.source, result.event_id, result.name)
      and ${effects.status} = 'pending'`,
  );
}

/** Parks effects whose tickets the queue gave up. No attempt is counted, and a sent effect stays sent. */
export async function parkEffects(
  db: Database,
  keys: readonly EffectKey[],
  { failure, error }: { readonly failure: Failure; readonly error: string },
): Promise<EffectKey[]> {
  if (keys.length === 0) return [];
  return run<EffectKey>(
    db,
    sql`
    update ${effects} set ${column.status} = 'parked', ${column.failure} = ${failure}, ${column.lastError} = ${error}
    from ${keysTable(keys)}
    where ${isKey} and ${effects.status} = 'pending'
    returning ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name`,
  );
}

const isKey = sql`(${effects.source}, ${effects.eventId}, ${effects.name}) = (key.source, key.event_id, key.name)`;

/** The keys as a table named `key`. */
function keysTable(keys: readonly EffectKey[]): SQL {
  return sql`unnest(${listOf(keys, ({ source }) => source)}::text[], ${listOf(keys, ({ eventId }) => eventId)}::text[],
                    ${listOf(keys, ({ name }) => name)}::text[]) as key (source, event_id, name)`;
}
