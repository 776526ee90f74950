import { openDatabase } from '../db/client.ts';
import { type EffectResult, type LoadedEffect, loadEffects, recordEffectResults } from '../db/effects.ts';
import { type EffectKey, idempotencyKeyOf, keyText } from '../db/keys.ts';
import { withFailure } from '../kit/errors.ts';
import { type ConsumerEnv, errorFromResponse, PermanentError } from '../kit/index.ts';
import { isEffectTicket, reasonUnreadable } from '../queue/tickets.ts';
import type { ConsumerBindings, Message } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import { kindOf, matching } from './ask-handler.ts';
import { type Judgement, judge } from './judge.ts';
import {
  ALREADY_FINISHED,
  NOT_FOUND,
  type Outcome,
  outcomeFields,
  record,
  secondsUntilDue,
  UNREADABLE,
} from './outcomes.ts';
import type { ConsumerDependencies, Portion, Settled } from './portions.ts';
import { tenantOf } from './tenant-of.ts';

/** An effect that messages want sent, and what becomes of it on its way. */
interface Work extends EffectKey {
  /** `alone`: it must be worked without the other messages. */
  outcome: Outcome | 'alone';
}

/** Sends the effects of a portion of tickets, each at least once and always with the same idempotency key. */
export async function sendEffects(
  { messages, begun }: Portion,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<Settled> {
  const { now, log } = dependencies;
  const db = openDatabase(env.DATABASE_URL);
  // Two tickets of one effect are one piece of work.
  const works = new Map<string, Work>();
  for (const { body } of messages) {
    if (isEffectTicket(body)) works.set(keyText(body), { ...body, outcome: NOT_FOUND });
  }
  const effects = works.size > 0 ? await loadEffects(db, [...works.values()], begun) : [];
  const results: EffectResult[] = [];
  const sendOne = async (effect: LoadedEffect) => {
    const work = works.get(keyText(effect));
    if (!work) return;
    const obstacle = obstacleTo(effect, messages.length > 1, now());
    work.outcome = obstacle ?? NOT_FOUND;
    if (obstacle) return;
    const outcome = effect.isCancelled ? cancel(effect, dependencies) : await send(effect, env, dependencies);
    work.outcome = outcome;
    results.push(...resultOf(effect, outcome, now()));
  };
  await Promise.all(effects.map(sendOne));
  if (results.length > 0) await record(() => recordEffectResults(db, results, now()));

  const settled = new Map<Message, readonly Outcome[] | 'alone'>();
  for (const message of messages) {
    const { body, attempts } = message;
    const work = isEffectTicket(body) ? works.get(keyText(body)) : undefined;
    if (!work) log({ step: 'effect', outcome: 'unreadable', ...reasonUnreadable(body), ticket_deliveries: attempts });
    const outcome = work?.outcome ?? UNREADABLE;
    settled.set(message, outcome === 'alone' ? outcome : [outcome]);
  }
  return settled;
}

/** Why an effect can't be sent now, if it can't. */
function obstacleTo(effect: LoadedEffect, isGroup: boolean, now: Date): Work['outcome'] | undefined {
  // Its last group never ended, so it may kill its isolate.
  if (isGroup && effect.neverEnded) return 'alone';
  if (effect.status !== 'pending') return ALREADY_FINISHED;
  const seconds = secondsUntilDue(effect, now);
  return seconds > 0 ? { outcome: 'not_due', seconds } : undefined;
}

/** The outcome of a call to the outside. */
type SendOutcome = { readonly outcome: 'sent' | 'cancelled' } | Judgement;

/** The row to write into the outbox, if any. */
function resultOf(effect: LoadedEffect, outcome: SendOutcome, now: Date): EffectResult[] {
  const { source, eventId, name, generation, attempts } = effect;
  const key = { source, eventId, name, generation, attempts };
  switch (outcome.outcome) {
    case 'sent':
    case 'cancelled':
      return [{ ...key, status: outcome.outcome, failure: null, error: null, notBefore: null }];
    case 'parked':
      return [{ ...key, ...outcome, status: 'parked', notBefore: null }];
    case 'retry':
      return [{ ...key, ...outcome, status: 'pending', notBefore: new Date(now.getTime() + outcome.seconds * 1000) }];
    case 'already_finished':
    case 'not_its_turn':
    case 'database_unavailable':
      return [];
  }
}

/** It was cancelled before it was added, or at the same moment. */
function cancel({ source, eventId, name }: LoadedEffect, { log }: ConsumerDependencies): SendOutcome {
  log({ step: 'effect', source, event_id: eventId, name, outcome: 'cancelled' });
  return { outcome: 'cancelled' };
}

async function send(
  effect: LoadedEffect,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<SendOutcome> {
  const { now, log } = dependencies;
  const started = now();
  const key = await idempotencyKeyOf(effect);
  const outcome = await outcomeOfCall(effect, key, env, dependencies);
  const { source, eventId, name } = effect;
  const fields = { ...outcomeFields(outcome), ...traceFields(effect.traceparent) };
  const ms = now().getTime() - started.getTime();
  log({ step: 'effect', source, event_id: eventId, name, idempotency_key: key, ...fields, ms });
  return outcome;
}

/** Calls the effect's function within its time limit. */
async function outcomeOfCall(
  effect: LoadedEffect,
  key: string,
  env: ConsumerBindings,
  { effects, sources, effectMs, now, random }: ConsumerDependencies,
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
      tenant: tenantOf(effect, { sources }),
      env: env as ConsumerEnv,
      signal: limit.signal,
      fetch: fetchInTrace(fetch, effect.traceparent, random),
    };
    // `effect()` compiles only with the payload of its kind. But the payload may be older than the code.
    const problem = `the stored payload does not match the schema of effect ${effect.kind}`;
    const sending = matching(JSON.parse(effect.payload), kind, problem).then((payload) =>
      kind.send(payload as never, tools),
    );
    const returned = await withTimeLimit<unknown, never>(effectMs, sending, () => {
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

/** By what is read of it, because a library may bring a Response of its own along. */
function isResponse(returned: unknown): returned is Response {
  if (typeof returned !== 'object' || returned === null) return false;
  const { status, ok, headers } = returned as Partial<Response>;
  return typeof status === 'number' && typeof ok === 'boolean' && typeof headers?.get === 'function';
}
