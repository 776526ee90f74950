import { DatabaseError, isCompletedBefore, isTurnLost } from '../db/errors.ts';
import type { Failure } from '../db/schema.ts';
import { failureOf, type OtherSide, otherSideOf, PermanentError, RetryLater } from '../kit/errors.ts';
import { nameOf, positionOf } from '../shared/log.ts';
import { MAX_DELAY_SECONDS } from '../shared/runtime.ts';
import { cleanText } from '../shared/text.ts';
import { inAppLines } from './app-lines.ts';
import { hideSecrets } from './hide-secrets.ts';

/** The consequence of an error for the event or the effect whose work threw it. */
export type Judgement =
  /** Another run completed the event first: this one is a duplicate, and not a failure. */
  | { readonly outcome: 'already_finished' }
  /** Another run works the order key of the event, and goes on with this event. */
  | { readonly outcome: 'not_its_turn' }
  /** Postgres has no space left, or can't be reached: the ticket comes again, and no attempt is counted. */
  | { readonly outcome: 'database_unavailable'; readonly reason: string }
  | FailureOutcome;

/** An attempt that failed. It is counted, unless it is `waiting` for the other side. */
export interface FailureOutcome {
  readonly outcome: 'retry' | 'parked' | 'waiting';
  /** How long to wait for the next attempt. 0 if there is none. */
  readonly seconds: number;
  readonly failure: Failure;
  readonly failedPaths: readonly string[] | null;
  /** Is stored in Postgres, for people. */
  readonly error: string;
  /** Is logged, so it never holds the message of an error. */
  readonly reason: string;
  readonly position: string | undefined;
  /** After how many attempts it is parked. Undefined if nothing was tried. */
  readonly maxAttempts?: number | undefined;
  /** Who may be at fault. */
  readonly otherSide?: OtherSide | undefined;
  /** How many seconds the other side has asked to wait. */
  readonly toldSeconds?: number | undefined;
}

/** Attempts before an event or an effect is parked, unless its handler says otherwise. */
export const ATTEMPTS = 12;

/** A screenful: more doesn't help a reader, and every list of failed events would load it. */
const MAX_ERROR_LENGTH = 1000;

/** A payload of another shape may fail at thousands of paths, and its keys may be as long as it likes. */
const MAX_FAILED_PATHS = 20;
const MAX_PATH_LENGTH = 200;

/** The largest integer of Postgres. */
const MAX_INTEGER = 2_147_483_647;

const THROW_INSTEAD = 'throw an Error, or a PermanentError or RetryLater of claimcheck';

/** An outage of a day parks nothing. */
export const PAUSE_SECONDS = 86_400;

/** How long the failures of an other side don't count. */
export interface Patience {
  readonly now: Date;
  /** When the work has first failed because of the other side. */
  readonly failingSince: Date | null;
  /** When another call to the host has last succeeded, as far as it is known. */
  readonly okAt: (host: string) => Date | null;
  readonly pauseSeconds: number;
  /** The longest wait for the next try. */
  readonly longestSeconds: number;
}

/** What a judgement depends on besides the error. */
export interface Attempt {
  readonly attemptsBefore: number;
  /** In [0, 1). */
  readonly random: number;
  readonly env: object;
  /** Which handler of a list has failed. */
  readonly handler?: string | undefined;
  readonly maxAttempts?: number | undefined;
  /** Breaking one of these constraints parks the event at once. */
  readonly parkOn?: readonly string[] | undefined;
  /** Without it, each failure counts. */
  readonly patience?: Patience | undefined;
}

/**
 * Decides whether failed work is tried again or parked. An error of Postgres counts as an attempt like any other: the
 * caller must first make sure that Postgres works. It never throws, whatever was thrown: an error here would fail the
 * whole batch, at every delivery.
 */
export function judge(error: unknown, attempt: Attempt): Judgement {
  try {
    return judgeReadable(error, attempt);
  } catch {
    const text = `the thrown value cannot be read: ${THROW_INSTEAD}`;
    const unknown = { failure: 'handler', failedPaths: null, position: undefined } as const;
    return { outcome: 'parked', seconds: 0, ...unknown, error: text, reason: text };
  }
}

function judgeReadable(error: unknown, attempt: Attempt): Judgement {
  const { attemptsBefore, random, env, handler, maxAttempts = ATTEMPTS, parkOn = [], patience } = attempt;
  if (isCompletedBefore(error)) return { outcome: 'already_finished' };
  if (isTurnLost(error)) return { outcome: 'not_its_turn' };
  const described = describe(error, handler === undefined ? '' : `${handler}: `);
  const isOfDatabase = DatabaseError.isFromDatabase(error);
  if (isOfDatabase && DatabaseError.fromThrown(error).isOutOfSpace) {
    return { outcome: 'database_unavailable', reason: described.reason };
  }
  const { failure, failedPaths } = failureOf(error);
  const attempts = attemptsBefore + 1;
  const problem = problemOf(error, maxAttempts);
  const isPermanent = error instanceof PermanentError || (isOfDatabase && breaksParkingConstraint(parkOn, error));
  const isHopeless = problem !== undefined || isPermanent;
  const otherSide = isHopeless ? undefined : otherSideOf(error);
  const isWaiting = otherSide !== undefined && patience !== undefined && !counts(otherSide, patience);
  const isParked = !isWaiting && (isHopeless || attempts >= maxAttempts);
  const toldSeconds = error instanceof RetryLater ? error.seconds : undefined;
  const wait = toldSeconds ?? (isWaiting ? growingWait(patience, random) : backoff(attempts, random));
  return {
    outcome: isWaiting ? 'waiting' : isParked ? 'parked' : 'retry',
    seconds: isParked ? 0 : Math.min(MAX_DELAY_SECONDS, Math.max(1, Math.ceil(wait))),
    failure: isOfDatabase ? 'database' : failure,
    // The paths hold keys of the payload. Text that Postgres refuses would fail the whole batch.
    failedPaths: failedPaths?.slice(0, MAX_FAILED_PATHS).map((path) => cleanText(path, MAX_PATH_LENGTH)) ?? null,
    // Secrets are hidden before the text is cut: half a secret would not be recognized.
    error: cleanText(hideSecrets([problem, described.error].filter(Boolean).join('. '), env), MAX_ERROR_LENGTH),
    reason: otherSide?.problem ?? described.reason,
    // The names of functions may have been made of anything.
    position: isOfDatabase ? undefined : cleanText(inAppLines(positionOf(error)) ?? '', MAX_ERROR_LENGTH) || undefined,
    maxAttempts: problem === undefined ? Math.min(maxAttempts, MAX_INTEGER) : undefined,
    ...(otherSide && { otherSide, toldSeconds }),
  };
}

/**
 * Whether a failure of the other side is an attempt like any other: if another call to it has succeeded since this work has first
 * failed, it is the work that fails. And an outage has an end.
 */
function counts({ host }: OtherSide, { now, failingSince, okAt, pauseSeconds }: Patience): boolean {
  const since = failingSince ?? now;
  return now.getTime() - since.getTime() >= pauseSeconds * 1000 || (okAt(host) ?? since) > since;
}

/** It doubles the time since the first failure, so that no number has to be kept. */
function growingWait({ now, failingSince, longestSeconds }: Patience, random: number): number {
  const elapsed = (now.getTime() - (failingSince ?? now).getTime()) / 1000;
  return Math.min(longestSeconds, Math.max(FIRST_SECONDS, elapsed)) * (1 - random / 2);
}

function breaksParkingConstraint(constraints: readonly string[], error: unknown): boolean {
  const { constraint } = DatabaseError.fromThrown(error);
  return constraint !== undefined && constraints.includes(constraint);
}

/** A mistake in the handler that would keep its event from ever being parked. Another try can't help. */
function problemOf(error: unknown, maxAttempts: unknown): string | undefined {
  if (error instanceof RetryLater && !(Number.isFinite(error.seconds) && error.seconds >= 0)) {
    return `RetryLater takes a number of seconds from 0 up, and not ${String(error.seconds)}`;
  }
  if (!Number.isInteger(maxAttempts) || Number(maxAttempts) < 1) {
    return `the handler's attempts must be a whole number from 1 up, and not ${String(maxAttempts)}`;
  }
  return undefined;
}

function describe(error: unknown, prefix: string): { reason: string; error: string } {
  if (DatabaseError.isFromDatabase(error)) {
    const text = prefix + DatabaseError.fromThrown(error).message;
    return { reason: text, error: text };
  }
  if (!(error instanceof Error)) {
    const kind = error === null ? 'null' : typeof error;
    const text = `${prefix}the thrown value is not an Error (${kind}): ${THROW_INSTEAD}`;
    return { reason: text, error: text };
  }
  const { name, message } = error;
  return { reason: prefix + nameOf(error), error: `${prefix}${name}: ${message}` };
}

/** The first wait: long enough for a short disturbance to pass. */
const FIRST_SECONDS = 5;
/** The longest wait: work goes on within an hour after the end of an outage. */
export const LAST_SECONDS = 3600;

/**
 * Seconds to wait after this many failures: exponential, capped, with full jitter, so that work that failed together
 * doesn't come back together. `random` is in [0, 1).
 */
export function backoff(failures: number, random: number): number {
  const ceiling = Math.min(LAST_SECONDS, FIRST_SECONDS * 2 ** Math.max(0, failures - 1));
  return Math.max(1, Math.round(ceiling * (1 - random)));
}
