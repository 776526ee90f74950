// The outbox: every statement about `webhook_effects` but those of the sweep and the operator.
import { sql } from 'drizzle-orm';
import { type Database, run, type Statement } from './client.ts';
import { type EffectKey, type EventKey, TICKET_GRACE_MS } from './keys.ts';
import { webhookEffects } from './schema.ts';

export interface LoadedEffect extends EffectKey {
  readonly kind: string;
  readonly payload: string;
  readonly status: 'pending' | 'sent' | 'parked';
  readonly attempts: number;
}

export interface EffectResult extends EffectKey {
  /** `pending`: it is tried again at `dueAt`. */
  readonly status: 'pending' | 'sent' | 'parked';
  readonly error: string | null;
  readonly dueAt: Date;
}

/** Writes an effect into the outbox, in the transaction that completes its event. A second run can't add it again. */
export function enqueueEffect(
  db: Database,
  { source, eventId }: EventKey,
  { name, kind, payload }: { readonly name: string; readonly kind: string; readonly payload: unknown },
  now: Date,
): Statement {
  const dueAt = new Date(now.getTime() + TICKET_GRACE_MS);
  return db
    .insert(webhookEffects)
    .values({ source, eventId, name, kind, payload: JSON.stringify(payload) ?? 'null', dueAt })
    .onConflictDoNothing();
}

/** Loads the effects of a batch of tickets in one query. */
export async function loadEffects(db: Database, keys: readonly EffectKey[]): Promise<LoadedEffect[]> {
  return run<LoadedEffect & Record<string, unknown>>(
    db,
    sql`
    select source, event_id as "eventId", name, kind, payload, status, attempts
    from ${keysTable(keys)} join webhook_effects using (source, event_id, name)`,
  );
}

/** Counts an attempt of each effect and keeps its result. What is sent stays sent. */
export async function recordEffectResults(db: Database, results: readonly EffectResult[], now: Date): Promise<void> {
  if (results.length === 0) return;
  const column = (read: (result: EffectResult) => string | null) => sql.param(results.map(read));
  await run(
    db,
    sql`
    update webhook_effects effect set
      attempts = attempts + 1,
      status = result.status,
      last_error = result.error,
      due_at = result.due_at,
      sent_at = case when result.status = 'sent' then ${now.toISOString()}::timestamptz end
    from unnest(${column(({ source }) => source)}::text[], ${column(({ eventId }) => eventId)}::text[],
                ${column(({ name }) => name)}::text[], ${column(({ status }) => status)}::text[],
                ${column(({ error }) => error)}::text[],
                ${column(({ dueAt }) => dueAt.toISOString())}::timestamptz[])
      as result (source, event_id, name, status, error, due_at)
    where (effect.source, effect.event_id, effect.name) = (result.source, result.event_id, result.name)
      and effect.status = 'pending'`,
  );
}

/** Parks effects whose tickets the queue gave up. No attempt is counted, and what is sent stays sent. */
export async function parkEffects(db: Database, keys: readonly EffectKey[], error: string): Promise<EffectKey[]> {
  if (keys.length === 0) return [];
  return run<EffectKey & Record<string, unknown>>(
    db,
    sql`
    update webhook_effects effect set status = 'parked', last_error = ${error}
    from ${keysTable(keys)}
    where (effect.source, effect.event_id, effect.name) = (key.source, key.event_id, key.name)
      and effect.status = 'pending'
    returning effect.source, effect.event_id as "eventId", effect.name`,
  );
}

/** The keys as a table named `key`. */
function keysTable(keys: readonly EffectKey[]) {
  const column = (read: (key: EffectKey) => string) => sql.param(keys.map(read));
  return sql`unnest(${column(({ source }) => source)}::text[], ${column(({ eventId }) => eventId)}::text[],
                    ${column(({ name }) => name)}::text[]) as key (source, event_id, name)`;
}
