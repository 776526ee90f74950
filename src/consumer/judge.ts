import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { PermanentError, RetryLater } from '../kit/index.ts';
import { positionOf } from '../log.ts';
import { backoff } from './backoff.ts';

/** What happens after work that failed. `error` is stored in Postgres, `reason` and `position` go to the log. */
export type Judgement =
  /** Another run completed it first. This is how a duplicate shows itself; it is not a failure. */
  | { outcome: 'already_finished' }
  /** Postgres failed, and not the event: it is tried again, and no attempt is counted. */
  | { outcome: 'database_unavailable'; reason: string }
  | Retry
  | Parked;

export interface Parked {
  readonly outcome: 'parked';
  readonly reason: string;
  readonly error: string;
  readonly position: string | undefined;
}

export interface Retry extends Omit<Parked, 'outcome'> {
  readonly outcome: 'retry';
  readonly seconds: number;
}

/** Attempts before an event or an effect is parked, unless its handler says otherwise. */
const ATTEMPTS = 12;

/** A queue delays a message by at most a day. */
const MAX_DELAY_SECONDS = 86_400;

/** A screenful: more doesn't help a reader, and every list of failed events would load it. */
const MAX_ERROR_LENGTH = 1000;

/**
 * What a failure leads to. Any error of Postgres counts as an attempt: the caller has to make sure that Postgres works.
 * Never throws, whatever was thrown: an error that can't be judged would fail its whole batch, at every delivery.
 */
export function judge(failure: unknown, attemptsBefore: number, random: number, maxAttempts = ATTEMPTS): Judgement {
  try {
    return judgeReadable(failure, attemptsBefore, random, maxAttempts);
  } catch {
    const text = `the thrown value can not be read: ${THROW_INSTEAD}`;
    return { outcome: 'parked', reason: text, error: text, position: undefined };
  }
}

const THROW_INSTEAD = 'throw an Error, or a PermanentError or RetryLater of #kit';

function judgeReadable(failure: unknown, attemptsBefore: number, random: number, maxAttempts: number): Judgement {
  if (isCompletedBefore(failure)) return { outcome: 'already_finished' };
  const { reason, error } = describe(failure);
  const isOfDatabase = DatabaseError.isCauseOf(failure);
  if (isOfDatabase && DatabaseError.from(failure).isOutOfSpace) return { outcome: 'database_unavailable', reason };
  const position = isOfDatabase ? undefined : positionOf(failure);
  const attempts = attemptsBefore + 1;
  const problem = problemOf(failure, maxAttempts);
  if (problem || failure instanceof PermanentError || attempts >= maxAttempts) {
    return { outcome: 'parked', reason, error: storable([problem, error].filter(Boolean).join('. ')), position };
  }
  const wait = failure instanceof RetryLater ? failure.seconds : backoff(attempts, random);
  const seconds = Math.min(MAX_DELAY_SECONDS, Math.max(1, Math.ceil(wait)));
  return { outcome: 'retry', reason, error: storable(error), position, seconds };
}

/** A mistake in the handler that would keep its event from ever being parked. Another try can't help. */
function problemOf(failure: unknown, maxAttempts: unknown): string | undefined {
  if (failure instanceof RetryLater && !(Number.isFinite(failure.seconds) && failure.seconds >= 0)) {
    return `RetryLater takes a number of seconds from 0 up, and not ${String(failure.seconds)}`;
  }
  if (!Number.isInteger(maxAttempts) || Number(maxAttempts) < 1) {
    return `the handler's attempts must be a whole number from 1 up, and not ${String(maxAttempts)}`;
  }
  return undefined;
}

function describe(failure: unknown): { reason: string; error: string } {
  if (DatabaseError.isCauseOf(failure)) {
    const { message } = DatabaseError.from(failure);
    return { reason: message, error: message };
  }
  if (!(failure instanceof Error)) {
    const kind = failure === null ? 'null' : typeof failure;
    const text = `the thrown value is not an Error (${kind}): ${THROW_INSTEAD}`;
    return { reason: text, error: text };
  }
  const { name, message } = failure;
  return { reason: String(name), error: `${name}: ${message}` };
}

/** Postgres can't store NUL, and Neon can't parse half a character, which is also what a cut can leave behind. */
function storable(error: string): string {
  return error
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MAX_ERROR_LENGTH)
    .toWellFormed();
}
