import type { Database } from '../db/client.ts';
import type { EffectResult, LoadedEffect, NotedResults } from '../db/effects.ts';
import { type EffectKey, keyText } from '../db/keys.ts';
import { type Answers, type KindLimit, LAST_PROBE_SECONDS, PROBE_LASTS_MS, takeWaiting } from '../db/pauses.ts';
import type { EffectKind } from '../kit/index.ts';
import { sendTickets } from '../queue/tickets.ts';
import type { ConsumerBindings } from '../shared/runtime.ts';
import { type FailureOutcome, PAUSE_SECONDS } from './judge.ts';
import type { ConsumerDependencies } from './portions.ts';

type Effects = ConsumerDependencies['effects'];

export function kindIn(effects: Effects, kind: string): EffectKind | undefined {
  return Object.hasOwn(effects, kind) ? effects[kind] : undefined;
}

/** The limits of the kinds that have one. */
export function limitsOf(effects: Effects): KindLimit[] {
  return Object.entries(effects).flatMap(([kind, { limit, pauseFor = PAUSE_SECONDS }]) =>
    limit ? [{ kind, perSecond: limit.perSecond ?? null, atOnce: limit.atOnce ?? null, pauseSeconds: pauseFor }] : [],
  );
}

/** Whether an effect may not call a host now. With an empty host: whether its whole kind waits. */
export function heldBy(effect: LoadedEffect, kind: EffectKind | undefined, now: Date): (host: string) => boolean {
  const { paused, host: failed, isProbe, failingSince } = effect;
  const waited = failingSince ? now.getTime() - failingSince.getTime() : 0;
  // It has waited for `pauseFor`, so only an operator's pause still holds it.
  const isOver = failingSince !== null && waited >= (kind?.pauseFor ?? PAUSE_SECONDS) * 1000;
  return (host) => {
    // `true` if an operator has paused it, `false` if failures have, `undefined` if it is not paused.
    const byHand = paused?.[host];
    if (byHand === undefined) return false;
    return byHand || !(isOver || (isProbe && host === failed));
  };
}

/**
 * What a run has learnt from its calls, for each kind and host: what failed, what succeeded, and how many waiting effects may
 * go. An empty host stands for the whole kind.
 */
export class RunAnswers {
  readonly #answers = new Map<string, Answers>();
  readonly #effects: Effects;

  constructor(effects: Effects) {
    this.#effects = effects;
  }

  /**
   * Empty if there is nothing to write: no call failed, no effect is held or has a place of a limit, and no row waits for a
   * success.
   */
  all(effects: readonly LoadedEffect[]): Answers[] {
    const all = [...this.#answers.values()];
    const isNoted = effects.some((effect) => effect.isNoted) || this.hasPlaces(effects);
    return isNoted || all.some(({ failing, isHeld }) => failing.size > 0 || isHeld) ? all : [];
  }

  /** Whether these effects take places of a limit, which must be given back. */
  hasPlaces(effects: readonly LoadedEffect[]): boolean {
    return effects.some((effect) => effect.place === 'goes' && this.#isAtOnce(effect));
  }

  /** Each success lets two waiting effects go, so the rate doubles. With `atOnce`, one goes, into the place that is free now. */
  succeeded(effect: LoadedEffect, hosts: readonly string[]): void {
    for (const host of new Set([...hosts, ''])) {
      const one = this.#answersFor(effect, host);
      one.ok++;
      one.release += host === '' && this.#isAtOnce(effect) ? 1 : 2;
    }
  }

  failed(effect: LoadedEffect, { otherSide, toldSeconds = 0 }: FailureOutcome, now: Date): void {
    if (otherSide === undefined) {
      this.ended(effect);
      return;
    }
    const { host, problem } = otherSide;
    const { source, eventId } = effect;
    const one = this.#answersFor(effect, host);
    one.failing.add(keyText({ source, eventId }));
    one.problem = problem;
    const told = Math.min(toldSeconds, LAST_PROBE_SECONDS) * 1000;
    if (told > 0) one.retryAt = new Date(Math.max(one.retryAt?.getTime() ?? 0, now.getTime() + told));
    if (this.#isAtOnce(effect)) this.#answersFor(effect, '').release++;
  }

  /** The effect was not sent, and never will be. */
  cancelled(effect: LoadedEffect): void {
    if (effect.isProbe) this.#answersFor(effect, effect.host ?? '').probe = 'not_called';
    this.ended(effect);
  }

  /** The effect makes no more calls in this run, so another may take its place. */
  ended(effect: LoadedEffect): void {
    for (const host of new Set([effect.host ?? '', ''])) this.#answersFor(effect, host).release++;
  }

  held(effect: LoadedEffect, host: string): void {
    this.#answersFor(effect, host).isHeld = true;
    if (this.#isAtOnce(effect)) this.#answersFor(effect, '').release++;
  }

  #isAtOnce({ kind }: LoadedEffect): boolean {
    return kindIn(this.#effects, kind)?.limit?.atOnce !== undefined;
  }

  #answersFor({ kind, isProbe, host: failed }: LoadedEffect, host: string): Answers {
    const get = (name: string) => {
      const key = JSON.stringify([kind, name]);
      const found = this.#answers.get(key) ?? {
        kind,
        host: name,
        ok: 0,
        release: 0,
        failing: new Set<string>(),
        problem: null,
        retryAt: null,
        probe: null,
        isHeld: false,
      };
      this.#answers.set(key, found);
      return found;
    };
    // The first answer about a probe marks it as called, so that the next probe is sent, whatever became of this one.
    if (isProbe && failed !== null) get(failed).probe ??= 'called';
    return get(host);
  }
}

export function ticketsOf(keys: readonly EffectKey[]): EffectKey[] {
  return keys.map(({ source, eventId, name }) => ({ source, eventId, name }));
}

/** The result of an effect that waits without an attempt being counted. */
export type WaitingResult = EffectResult & { readonly kind: string };

/**
 * Sends tickets for the next probe of each pause, for the effects that a success lets go, and for those that wait although
 * nothing is paused. `redelivered` are the effects whose ticket came again, perhaps because the run of a probe was killed: they
 * get a ticket for the time when another probe may be sent. If the queue doesn't take a ticket, the sweep sends one.
 */
export async function sendOn(
  { states, released }: NotedResults,
  waiting: readonly WaitingResult[],
  redelivered: ReadonlySet<string>,
  db: Database,
  env: ConsumerBindings,
  { now, log }: ConsumerDependencies,
): Promise<void> {
  const at = now();
  const tickets = new Map<string, EffectKey & { readonly delaySeconds: number }>();
  const add = ({ source, eventId, name }: EffectKey, when: Date) => {
    const delaySeconds = Math.max(0, Math.ceil((when.getTime() - at.getTime()) / 1000));
    tickets.set(keyText({ source, eventId, name }), { source, eventId, name, delaySeconds });
  };
  for (const { kind, host, isPaused, wasPaused, nextProbe, release } of states) {
    if (isPaused !== wasPaused) log({ step: 'pause', outcome: isPaused ? 'paused' : 'resumed', kind, host });
    const isSame = (one: { readonly kind: string; readonly host?: string | null | undefined }) =>
      one.kind === kind && one.host === host;
    const some = released.some(isSame);
    const own = waiting.find(isSame);
    if (nextProbe && !some && own) add(own, nextProbe);
    if (release === 0 || some) continue;
    // The statement released nothing. Perhaps an effect began to wait while it ran, so look once more.
    for (const one of await takeWaiting(db, at, { kind, host, number: release }).catch(() => [])) add(one, one.at);
  }
  for (const one of released) add(one, one.at);
  const isPaused = ({ kind, host }: WaitingResult) =>
    states.some((state) => state.isPaused && state.kind === kind && ['', host].includes(state.host));
  for (const one of waiting) {
    if (tickets.has(keyText(one))) continue;
    if (!isPaused(one)) add(one, one.notBefore ?? at);
    else if (redelivered.has(keyText(one))) add(one, new Date(at.getTime() + PROBE_LASTS_MS));
  }
  if (tickets.size > 0) await sendTickets(env.EFFECTS, [...tickets.values()]);
}
