import { type Database, openDatabase } from '../db/client.ts';
import { type EffectResult, type LoadedEffect, loadEffects, recordEffectResults } from '../db/effects.ts';
import { idempotencyKeyOf, keyText } from '../db/keys.ts';
import { withFailure } from '../kit/errors.ts';
import { errorFromResponse, PermanentError } from '../kit/index.ts';
import { type EffectTicket, isEffectTicket, reasonUnreadable } from '../queue/tickets.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import {
  acknowledge,
  type ConsumerDependencies,
  fieldsOf,
  type Outcome,
  secondsUntilDue,
  workInPortions,
} from './batch.ts';
import { type Judgement, judge } from './judge.ts';

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
  const outcomes = new Map<string, Outcome>();
  const due: LoadedEffect[] = [];
  for (const effect of effects) {
    const seconds = secondsUntilDue(effect, now());
    if (effect.status !== 'pending') outcomes.set(keyText(effect), { outcome: 'already_finished' });
    else if (seconds > 0) outcomes.set(keyText(effect), { outcome: 'not_due', seconds });
    else due.push(effect);
  }
  const sent = await Promise.all(
    due.map(async (effect) => {
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
  const results = sent.filter((result) => result !== undefined);
  await recordEffectResults(db, results, now());
  return outcomes;
}

/** The outcome of a call to the outside. */
type SendOutcome = { readonly outcome: 'sent' } | Judgement;

/** The row to write into the outbox, if any. */
function resultOf({ source, eventId, name }: LoadedEffect, outcome: SendOutcome, now: Date): EffectResult | undefined {
  const key = { source, eventId, name };
  switch (outcome.outcome) {
    case 'sent':
      return { ...key, status: 'sent', failure: null, error: null, notBefore: null };
    case 'parked':
      return { ...key, status: 'parked', failure: outcome.failure, error: outcome.error, notBefore: null };
    case 'retry': {
      const notBefore = new Date(now.getTime() + outcome.seconds * 1000);
      return { ...key, status: 'pending', failure: outcome.failure, error: outcome.error, notBefore };
    }
    case 'already_finished':
    case 'database_unavailable':
      return undefined;
  }
}

async function send(
  effect: LoadedEffect,
  key: string,
  env: ConsumerEnv,
  { effects, effectMs, now, random }: ConsumerDependencies,
): Promise<SendOutcome> {
  try {
    const kind = Object.hasOwn(effects, effect.kind) ? effects[effect.kind] : undefined;
    if (kind === undefined) {
      const message = `there is no effect ${effect.kind} in src/app/effects`;
      throw withFailure(new PermanentError(message), 'no_handler');
    }
    const limit = new AbortController();
    const tools = { key, env, signal: limit.signal, fetch: fetchInTrace(fetch, effect.traceparent, random) };
    // `effect()` compiles only with the payload of its kind, so this payload fits this kind.
    const sending = kind.send(JSON.parse(effect.payload) as never, tools);
    const response = await withTimeLimit(effectMs, sending, () => {
      const late = withFailure(new Error(`the effect took longer than ${effectMs / 1000} s`), 'time_limit');
      limit.abort(late);
      throw late;
    });
    // The effect may have read the body itself.
    if (!response.bodyUsed) await response.body?.cancel();
    const error = errorFromResponse(response, now());
    if (error) throw error;
    return { outcome: 'sent' };
  } catch (error) {
    return judge(error, effect.attempts, random());
  }
}
