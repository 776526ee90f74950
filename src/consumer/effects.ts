import { type Database, openDatabase } from '../db/client.ts';
import { type EffectResult, type LoadedEffect, loadEffects, recordEffectResults } from '../db/effects.ts';
import { keyText, TICKET_GRACE_MS } from '../db/keys.ts';
import { traceFields } from '../encoding/traceparent.ts';
import { errorFromResponse, PermanentError } from '../kit/index.ts';
import { idempotencyKeyOf } from '../queue/idempotency-key.ts';
import { type EffectTicket, isEffectTicket, reasonUnreadable } from '../queue/tickets.ts';
import { workInPortions } from './batch.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { judge } from './judge.ts';
import { inTime } from './limits.ts';
import { acknowledge, fieldsOf, type Outcome } from './outcome.ts';
import { fetchInTrace } from './trace.ts';

/** Sends the effects of a batch of tickets, each at least once and always with the same idempotency key. */
export async function sendEffects(
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { log, random } = dependencies;
  await workInPortions(batch, dependencies, async (messages) => {
    const tickets = new Map<string, EffectTicket>();
    for (const { body } of messages) if (isEffectTicket(body)) tickets.set(keyText(body), body);
    const db = openDatabase(env.DATABASE_URL);
    const outcomes = await sendLoaded(await loadEffects(db, [...tickets.values()]), db, env, dependencies);
    for (const message of messages) {
      const { body, attempts: ticketDeliveries } = message;
      const readable = isEffectTicket(body);
      if (!readable) {
        log({ step: 'effect', outcome: 'unreadable', ...reasonUnreadable(body), ticket_deliveries: ticketDeliveries });
      }
      const outcome: Outcome = readable
        ? (outcomes.get(keyText(body)) ?? { outcome: 'not_found' })
        : { outcome: 'unreadable' };
      acknowledge(message, [outcome], random());
    }
  });
}

async function sendLoaded(
  effects: readonly LoadedEffect[],
  db: Database,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<Map<string, Outcome>> {
  const { now, log } = dependencies;
  const outcomes = new Map<string, Outcome>(
    effects.map((effect) => [keyText(effect), { outcome: 'already_finished' }]),
  );
  const pending = effects.filter(({ status }) => status === 'pending');
  const results = await Promise.all(
    pending.map(async (effect) => {
      const started = now();
      const key = await idempotencyKeyOf(effect);
      const outcome = await send(effect, key, env, dependencies);
      outcomes.set(keyText(effect), outcome);
      const { source, eventId, name } = effect;
      const fields = { ...fieldsOf(outcome), ...traceFields(effect.traceparent) };
      const ms = now().getTime() - started.getTime();
      log({ step: 'effect', source, event_id: eventId, name, idempotency_key: key, ...fields, ms });
      return resultOf(effect, outcome, now());
    }),
  );
  await recordEffectResults(
    db,
    results.filter((result) => result !== undefined),
    now(),
  );
  return outcomes;
}

/** What to write into the outbox, if anything. */
function resultOf({ source, eventId, name }: LoadedEffect, outcome: Outcome, now: Date): EffectResult | undefined {
  const key = { source, eventId, name };
  switch (outcome.outcome) {
    case 'sent':
      return { ...key, status: 'sent', error: null, dueAt: now };
    case 'parked':
      return { ...key, status: 'parked', error: outcome.error, dueAt: now };
    case 'retry': {
      const dueAt = new Date(now.getTime() + outcome.seconds * 1000 + TICKET_GRACE_MS);
      return { ...key, status: 'pending', error: outcome.error, dueAt };
    }
    case 'done':
    case 'ignored':
    case 'already_finished':
    case 'database_unavailable':
    case 'not_found':
    case 'not_due':
    case 'deferred':
    case 'unreadable':
      return undefined;
  }
}

async function send(
  effect: LoadedEffect,
  key: string,
  env: ConsumerEnv,
  { effects, effectMs, now, random }: ConsumerDependencies,
): Promise<Outcome> {
  try {
    const kind = Object.hasOwn(effects, effect.kind) ? effects[effect.kind] : undefined;
    if (kind === undefined) throw new PermanentError(`there is no effect ${effect.kind} in src/app/effects`);
    const signal = AbortSignal.timeout(effectMs);
    const tools = { key, env, signal, fetch: fetchInTrace(fetch, effect.traceparent, random) };
    // `effect()` compiles only with the payload of its kind, so this payload fits this kind.
    const sending = kind.send(JSON.parse(effect.payload) as never, tools);
    const response = await inTime(effectMs, 'the effect', sending);
    // The effect may have read the body itself.
    if (!response.bodyUsed) await response.body?.cancel();
    const error = errorFromResponse(response, now());
    if (error) throw error;
    return { outcome: 'sent' };
  } catch (error) {
    return judge(error, effect.attempts, random());
  }
}
