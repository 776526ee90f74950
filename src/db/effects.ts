// The outbox: every statement about `webhook_effects`, except those of the sweep and of the operator.
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EffectKey, type EventKey, TICKET_GRACE_MS } from './keys.ts';
import { webhookBodies as bodies, webhookEffects as effects } from './schema.ts';

export interface LoadedEffect extends EffectKey {
  readonly kind: string;
  readonly payload: string;
  readonly status: 'pending' | 'sent' | 'parked';
  readonly attempts: number;
  /** Of the event's delivery. Null if it had none, or if the body has been pruned, together with its headers. */
  readonly traceparent: string | null;
}

export interface EffectResult extends EffectKey {
  /** A `pending` effect is tried again at `dueAt`. */
  readonly status: 'pending' | 'sent' | 'parked';
  readonly error: string | null;
  readonly dueAt: Date;
}

const effectColumn = columnNames(effects);

/** Writes an effect into the outbox, in the transaction that completes its event. A second run can't add it again. */
export function enqueueEffect(
  { source, eventId }: EventKey,
  { name, kind, payload }: { readonly name: string; readonly kind: string; readonly payload: unknown },
  now: Date,
): SQL {
  const dueAt = new Date(now.getTime() + TICKET_GRACE_MS).toISOString();
  return sql`
    insert into ${effects} (
      ${effectColumn.source}, ${effectColumn.eventId}, ${effectColumn.name}, ${effectColumn.kind},
      ${effectColumn.payload}, ${effectColumn.dueAt}
    )
    values (${source}, ${eventId}, ${name}, ${kind}, ${JSON.stringify(payload) ?? 'null'}, ${dueAt})
    on conflict do nothing`;
}

/** Loads the effects of a batch of tickets in one query. */
export async function loadEffects(db: Database, keys: readonly EffectKey[]): Promise<LoadedEffect[]> {
  return run<LoadedEffect & Record<string, unknown>>(
    db,
    sql`
    select ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name,
           ${effects.kind} as kind, ${effects.payload} as payload, ${effects.status} as status,
           ${effects.attempts} as attempts, ${bodies.headers} ->> 'traceparent' as traceparent
    from ${keysTable(keys)} join ${effects} on ${isKey}
    left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${effects.source}, ${effects.eventId})`,
  );
}

/** Counts an attempt of each effect and keeps its result. A sent effect stays sent. */
export async function recordEffectResults(db: Database, results: readonly EffectResult[], now: Date): Promise<void> {
  if (results.length === 0) return;
  const column = (read: (result: EffectResult) => string | null) => sql.param(results.map(read));
  await run(
    db,
    sql`
    update ${effects} set
      ${effectColumn.attempts} = ${effects.attempts} + 1,
      ${effectColumn.status} = result.status,
      ${effectColumn.lastError} = result.error,
      ${effectColumn.dueAt} = result.due_at,
      ${effectColumn.sentAt} = case when result.status = 'sent' then ${now.toISOString()}::timestamptz end
    from unnest(${column(({ source }) => source)}::text[], ${column(({ eventId }) => eventId)}::text[],
                ${column(({ name }) => name)}::text[], ${column(({ status }) => status)}::text[],
                ${column(({ error }) => error)}::text[],
                ${column(({ dueAt }) => dueAt.toISOString())}::timestamptz[])
      as result (source, event_id, name, status, error, due_at)
    where (${effects.source}, ${effects.eventId}, ${effects.name}) = (result.source, result.event_id, result.name)
      and ${effects.status} = 'pending'`,
  );
}

/** Parks effects whose tickets the queue gave up. No attempt is counted, and a sent effect stays sent. */
export async function parkEffects(db: Database, keys: readonly EffectKey[], error: string): Promise<EffectKey[]> {
  if (keys.length === 0) return [];
  return run<EffectKey & Record<string, unknown>>(
    db,
    sql`
    update ${effects} set ${effectColumn.status} = 'parked', ${effectColumn.lastError} = ${error}
    from ${keysTable(keys)}
    where ${isKey} and ${effects.status} = 'pending'
    returning ${effects.source} as source, ${effects.eventId} as "eventId", ${effects.name} as name`,
  );
}

const isKey = sql`(${effects.source}, ${effects.eventId}, ${effects.name}) = (key.source, key.event_id, key.name)`;

/** The keys as a table named `key`. */
function keysTable(keys: readonly EffectKey[]) {
  const column = (read: (key: EffectKey) => string) => sql.param(keys.map(read));
  return sql`unnest(${column(({ source }) => source)}::text[], ${column(({ eventId }) => eventId)}::text[],
                    ${column(({ name }) => name)}::text[]) as key (source, event_id, name)`;
}
