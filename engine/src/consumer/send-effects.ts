import { openDatabase } from '../db/client.ts';
import { type EffectResult, type LoadedEffect, loadEffects, recordEffectResults } from '../db/effects.ts';
import { type EffectKey, idempotencyKeyOf, keyText } from '../db/keys.ts';
import { LAST_PROBE_SECONDS, takeWaiting } from '../db/pauses.ts';
import { withFailure } from '../kit/errors.ts';
import { type ConsumerEnv, errorFromResponse, PermanentError } from '../kit/index.ts';
import { isEffectTicket, reasonUnreadable, sendTickets } from '../queue/tickets.ts';
import type { ConsumerBindings, Message } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import { kindOf, matching } from './ask-handler.ts';
import { type Judgement, judge, PAUSE_SECONDS } from './judge.ts';
import {
  ALREADY_FINISHED,
  NOT_FOUND,
  type Outcome,
  outcomeFields,
  record,
  secondsUntilDue,
  UNREADABLE,
} from './outcomes.ts';
import { markLate, type Outside, watchCalls, withHost } from './outside.ts';
import type { ConsumerDependencies, Portion, PortionOutcomes } from './portions.ts';
import { heldBy, kindIn, limitsOf, RunAnswers, sendOn, ticketsOf, type WaitingResult } from './run-answers.ts';
import { tenantOf } from './tenant-of.ts';

/** An effect that messages want sent, and what becomes of it on its way. */
interface Work extends EffectKey {
  /** `alone`: it must be worked without the other messages. */
  outcome: Outcome | 'alone';
}

/** A run that holds places of a limit may be killed. They are free again this long after the time limit of its calls. */
const UNTIL_MS = 30_000;

/** A longer `Retry-After` delays only the effect that received it: a whole host is paused for this long at most. */
const MAX_SHARED_SECONDS = LAST_PROBE_SECONDS;

/** Sends the effects of a portion of tickets, each at least once and always with the same idempotency key. */
export async function sendEffects(
  { messages, begun }: Portion,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<PortionOutcomes> {
  const { now, log, effectMs } = dependencies;
  const db = openDatabase(env.DATABASE_URL);
  // Two tickets of one effect are one piece of work.
  const works = new Map<string, Work>();
  for (const { body } of messages) {
    if (isEffectTicket(body)) works.set(keyText(body), { ...body, outcome: NOT_FOUND });
  }
  const id = crypto.randomUUID();
  const kinds = Object.values(dependencies.effects);
  const begins = {
    id,
    now: now(),
    begun,
    limits: limitsOf(dependencies.effects),
    until: new Date(now().getTime() + effectMs + UNTIL_MS),
    withAge: kinds.some((kind) => kind?.expiresAfter !== undefined),
  };
  const load = async () => (works.size > 0 ? loadEffects(db, [...works.values()], begins) : []);
  let effects = await load();
  // The statement inserted the row of a limited kind, but could not see it yet. So it runs again.
  if (effects.some(({ place }) => place === 'new')) effects = await load();
  const redelivered = new Set(
    messages.flatMap(({ body, attempts }) => (attempts > 1 && isEffectTicket(body) ? [keyText(body)] : [])),
  );
  const results: EffectResult[] = [];
  const waiting: WaitingResult[] = [];
  const runAnswers = new RunAnswers(dependencies.effects);
  const sendOne = async (effect: LoadedEffect) => {
    const work = works.get(keyText(effect));
    if (!work) return;
    const obstacle = obstacleTo(effect, messages.length > 1, now());
    work.outcome = obstacle ?? NOT_FOUND;
    if (obstacle) return effect.place === 'goes' ? runAnswers.ended(effect) : undefined;
    const outcome = await outcomeFor(effect, runAnswers, env, dependencies);
    work.outcome = outcome;
    const result = resultOf(effect, outcome, runAnswers, now());
    if (result) results.push(result);
    if (result?.waits) waiting.push({ ...result, kind: effect.kind });
  };
  await Promise.all(effects.map(sendOne));
  if (results.length > 0 || runAnswers.hasPlaces(effects)) {
    const answers = runAnswers.all(effects);
    const at = now();
    const noted = await record(() => recordEffectResults(db, results, at, { id, answers }));
    await sendOn(noted, waiting, redelivered, db, env, dependencies);
  }
  const inLine = effects.flatMap(({ source, eventId, name, place, slotAt }) => {
    if (place !== 'waits') return [];
    // An effect without a time in the line gets its ticket when another call ends. But a redelivered ticket may come from a run
    // that was killed while it held the only place. So it also gets a ticket for the time when that place is free.
    const notBefore = slotAt ?? (redelivered.has(keyText({ source, eventId, name })) ? begins.until : null);
    return notBefore ? [{ source, eventId, name, delaySeconds: secondsUntilDue({ notBefore }, now()) }] : [];
  });
  if (inLine.length > 0) await sendTickets(env.EFFECTS, inLine);
  // If the effect of a redelivered ticket is finished, the run that finished it may have been killed before it sent the tickets
  // of waiting effects. So send some now.
  const isKnown = [...works.values()].some(
    (work) => work.outcome === ALREADY_FINISHED && redelivered.has(keyText(work)),
  );
  if (isKnown) await sendTickets(env.EFFECTS, ticketsOf(await takeWaiting(db, now())));

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
  // The last group that it was in never ended. Perhaps this effect killed the isolate, so it is worked alone.
  if (isGroup && effect.neverEnded) return 'alone';
  if (effect.status !== 'pending') return ALREADY_FINISHED;
  if (effect.place === 'waits') return { outcome: 'held', reason: 'limited' };
  const seconds = secondsUntilDue(effect, now);
  return seconds > 0 ? { outcome: 'not_due', seconds } : undefined;
}

/** The outcome of an effect that is due. */
type SendOutcome =
  | { readonly outcome: 'sent' }
  | { readonly outcome: 'cancelled'; readonly error?: string }
  | { readonly outcome: 'held'; readonly reason: string; readonly host: string }
  | Judgement;

/** The row to write into the outbox, if any. */
function resultOf(
  effect: LoadedEffect,
  outcome: SendOutcome,
  runAnswers: RunAnswers,
  now: Date,
): EffectResult | undefined {
  const { source, eventId, name, generation, attempts } = effect;
  const key = { source, eventId, name, generation, attempts };
  const inSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1000);
  switch (outcome.outcome) {
    case 'sent':
      return { ...key, status: 'sent', failure: null, error: null, notBefore: null };
    case 'cancelled':
      runAnswers.cancelled(effect);
      return { ...key, status: 'cancelled', failure: null, error: outcome.error ?? null, notBefore: null };
    case 'held': {
      const { host, reason: error } = outcome;
      runAnswers.held(effect, host);
      // `true`: paused by an operator, which is not a failure of the other side.
      const isFailing = effect.paused?.[host] !== true;
      return { ...key, status: 'pending', failure: null, error, notBefore: null, waits: 'held', host, isFailing };
    }
    case 'parked':
      runAnswers.failed(effect, outcome, now);
      return { ...key, ...outcome, status: 'parked', notBefore: null };
    case 'waiting':
    case 'retry': {
      runAnswers.failed(effect, outcome, now);
      const { otherSide, toldSeconds = 0, seconds } = outcome;
      const toldAt = toldSeconds > MAX_SHARED_SECONDS ? inSeconds(seconds) : undefined;
      const waits = outcome.outcome === 'waiting' ? ('failing' as const) : undefined;
      const isFailing = otherSide !== undefined;
      const notBefore = inSeconds(seconds);
      return { ...key, ...outcome, status: 'pending', notBefore, waits, host: otherSide?.host, isFailing, toldAt };
    }
    case 'already_finished':
    case 'not_its_turn':
    case 'database_unavailable':
      runAnswers.ended(effect);
      return undefined;
  }
}

/** Sends an effect, unless something ends it or keeps it waiting. */
async function outcomeFor(
  effect: LoadedEffect,
  runAnswers: RunAnswers,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<SendOutcome> {
  const { now, log } = dependencies;
  const { source, eventId, name } = effect;
  const fields = { step: 'effect', source, event_id: eventId, name } as const;
  const kind = kindIn(dependencies.effects, effect.kind);
  const isHeld = heldBy(effect, kind, now());
  const holder = [effect.host ?? '', ''].find(isHeld);
  if (effect.isCancelled) {
    log({ ...fields, outcome: 'cancelled' });
    return { outcome: 'cancelled' };
  }
  const { sendableSince } = effect;
  const age = sendableSince ? (now().getTime() - sendableSince.getTime()) / 1000 : 0;
  if (kind?.expiresAfter !== undefined && age > kind.expiresAfter) {
    log({ ...fields, outcome: 'cancelled', reason: 'expired' });
    return { outcome: 'cancelled', error: `expired: it could not be sent within ${kind.expiresAfter} s` };
  }
  if (holder !== undefined) {
    log({ ...fields, outcome: 'held', reason: 'paused' });
    return heldFor(effect.kind, holder);
  }
  return send(effect, isHeld, runAnswers, env, dependencies);
}

const sleepFor = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function heldFor(kind: string, host: string): SendOutcome & { readonly outcome: 'held' } {
  return { outcome: 'held', reason: `waits: ${host === '' ? `${kind} is` : `calls to ${host} are`} paused`, host };
}

async function send(
  effect: LoadedEffect,
  isHeld: (host: string) => boolean,
  runAnswers: RunAnswers,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<SendOutcome> {
  const { now, log, sleep = sleepFor } = dependencies;
  const key = await idempotencyKeyOf(effect);
  // Only a kind with a limit per second has a `slotAt`.
  const wait = (effect.slotAt?.getTime() ?? 0) - now().getTime();
  if (wait > 0) await sleep(wait);
  const started = now();
  const outside = watchCalls(fetchInTrace(fetch, effect.traceparent, dependencies.random), isHeld);
  const outcome = await outcomeOfCall(effect, key, outside, runAnswers, env, dependencies);
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
  outside: Outside,
  runAnswers: RunAnswers,
  env: ConsumerBindings,
  { effects, sources, effectMs, now, random }: ConsumerDependencies,
): Promise<SendOutcome> {
  const kind = kindIn(effects, effect.kind);
  try {
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
      fetch: outside.fetch,
    };
    // `effect()` compiles only with the payload of its kind. But the payload may be older than the code.
    const problem = `the stored payload does not match the schema of effect ${effect.kind}`;
    const sending = matching(JSON.parse(effect.payload), kind, problem).then((payload) =>
      kind.send(payload as never, tools),
    );
    const returned = await withTimeLimit<unknown, never>(effectMs, sending, () => {
      const late = withFailure(new Error(`the effect took longer than ${effectMs / 1000} s`), 'time_limit');
      markLate(late, outside.last());
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
    if (error) throw withHost(error, outside.last());
    const hosts = outside.succeeded();
    runAnswers.succeeded(effect, hosts.length > 0 ? hosts : [URL.parse(returned.url)?.host ?? '']);
    return { outcome: 'sent' };
  } catch (error) {
    const refused = outside.refused();
    if (refused !== undefined) return heldFor(effect.kind, refused);
    const { attempts, failingSince, okAt, host } = effect;
    const patience = {
      now: now(),
      failingSince,
      okAt: (failed: string) => (failed === host ? okAt : null),
      pauseSeconds: kind?.pauseFor ?? PAUSE_SECONDS,
      longestSeconds: LAST_PROBE_SECONDS,
    };
    return judge(error, { attemptsBefore: attempts, random: random(), env, patience });
  }
}

/** Checks its properties and not its class, because a library may have its own Response class. */
function isResponse(returned: unknown): returned is Response {
  if (typeof returned !== 'object' || returned === null) return false;
  const { status, ok, headers } = returned as Partial<Response>;
  return typeof status === 'number' && typeof ok === 'boolean' && typeof headers?.get === 'function';
}
