import { type Database, openDatabase } from '../db/client.ts';
import { type EffectResult, type LoadedEffect, loadEffects, recordEffectResults } from '../db/effects.ts';
import { idempotencyKeyOf, keyText } from '../db/keys.ts';
import { withFailure } from '../kit/errors.ts';
import {
  type ConsumerEnv,
  type EffectKind,
  type EffectTools,
  errorFromResponse,
  PermanentError,
} from '../kit/index.ts';
import { type EffectTicket, isEffectTicket, reasonUnreadable } from '../queue/tickets.ts';
import type { ConsumerBindings, MessageBatch } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import { kindOf, matching } from './ask-handler.ts';
import {
  acknowledge,
  beginningOf,
  type ConsumerDependencies,
  fieldsOf,
  type Outcome,
  record,
  secondsUntilDue,
  workInPortions,
} from './batch.ts';
import { type Judgement, judge } from './judge.ts';

/** Sends the effects of a batch of tickets, each at least once and always with the same idempotency key. */
export async function sendEffects(
  batch: MessageBatch,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now, log, random } = dependencies;
  await workInPortions(batch, dependencies, async (messages) => {
    const tickets = new Map<string, EffectTicket>();
    for (const { body } of messages) if (isEffectTicket(body)) tickets.set(keyText(body), body);
    const db = openDatabase(env.DATABASE_URL);
    const effects = await loadEffects(db, [...tickets.values()], beginningOf(messages, now()));
    // Their last group never ended, so one of them may kill its isolate.
    const toSendAlone = new Set(messages.length > 1 ? effects.filter(({ neverEnded }) => neverEnded).map(keyText) : []);
    const others = effects.filter((effect) => !toSendAlone.has(keyText(effect)));
    const outcomes = await sendLoaded(others, db, env, dependencies);
    const messagesToSendAlone = messages.filter(({ body }) => isEffectTicket(body) && toSendAlone.has(keyText(body)));
    for (const message of messages) {
      const { body, attempts: ticketDeliveries } = message;
      if (messagesToSendAlone.includes(message)) continue;
      const readable = isEffectTicket(body);
      if (!readable) {
        log({ step: 'effect', outcome: 'unreadable', ...reasonUnreadable(body), ticket_deliveries: ticketDeliveries });
      }
      const outcome: Outcome = readable
        ? (outcomes.get(keyText(body)) ?? { outcome: 'not_found' })
        : { outcome: 'unreadable' };
      acknowledge(message, [outcome], random());
    }
    return messagesToSendAlone;
  });
}

async function sendLoaded(
  effects: readonly LoadedEffect[],
  db: Database,
  env: ConsumerBindings,
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
  await record(() => recordEffectResults(db, results, now()));
  return outcomes;
}

/** The outcome of a call to the outside. */
type SendOutcome = { readonly outcome: 'sent' } | Judgement;

/** The row to write into the outbox, if any. */
function resultOf(effect: LoadedEffect, outcome: SendOutcome, now: Date): EffectResult | undefined {
  const { source, eventId, name, generation, attempts } = effect;
  const key = { source, eventId, name, generation, attempts };
  switch (outcome.outcome) {
    case 'sent':
      return { ...key, status: 'sent', failure: null, error: null, notBefore: null };
    case 'parked':
      return { ...key, ...outcome, status: 'parked', notBefore: null };
    case 'retry':
      return { ...key, ...outcome, status: 'pending', notBefore: new Date(now.getTime() + outcome.seconds * 1000) };
    case 'already_finished':
    case 'database_unavailable':
      return undefined;
  }
}

async function send(
  effect: LoadedEffect,
  key: string,
  env: ConsumerBindings,
  { effects, effectMs, now, random }: ConsumerDependencies,
): Promise<SendOutcome> {
  try {
    const kind = Object.hasOwn(effects, effect.kind) ? effects[effect.kind] : undefined;
    if (kind === undefined) {
      const message = `there is no effect ${effect.kind} in src/effects`;
      throw withFailure(new PermanentError(message), 'no_handler');
    }
    const limit = new AbortController();
    const tools = {
      key,
      env: env as ConsumerEnv,
      signal: limit.signal,
      fetch: fetchInTrace(fetch, effect.traceparent, random),
    };
    const returned = await withTimeLimit(effectMs, sendPayload(effect, kind, tools), () => {
      const late = withFailure(new Error(`the effect took longer than ${effectMs / 1000} s`), 'time_limit');
      limit.abort(late);
      throw late;
    });
    if (!isResponse(returned)) {
      const message = `effect ${effect.kind} returned ${kindOf(returned)}: return the Response of fetch`;
      throw withFailure(new PermanentError(message), 'changes');
    }
    // The effect may have read the body, or still have a reader on it, and the Response of a library may have another body.
    if (!returned.bodyUsed) await returned.body?.cancel?.().catch(() => {});
    const error = errorFromResponse(returned, now());
    if (error) throw error;
    return { outcome: 'sent' };
  } catch (error) {
    return judge(error, { attemptsBefore: effect.attempts, random: random(), env });
  }
}

/** `effect()` compiles only with the payload of its kind. But the payload may be older than the code. */
async function sendPayload(effect: LoadedEffect, kind: EffectKind, tools: EffectTools): Promise<unknown> {
  const problem = `the stored payload does not match the schema of effect ${effect.kind}`;
  return kind.send((await matching(JSON.parse(effect.payload), kind, problem)) as never, tools);
}

/** By what is read of it, because a library may bring a Response of its own along. */
function isResponse(returned: unknown): returned is Response {
  if (typeof returned !== 'object' || returned === null) return false;
  const { status, ok, headers } = returned as Partial<Response>;
  return typeof status === 'number' && typeof ok === 'boolean' && typeof headers?.get === 'function';
}
