import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { PermanentError, RetryLater } from '../kit/index.ts';
import { positionOf } from '../log.ts';
import { backoff } from './backoff.ts';

/** What happens after work that failed. `error` is stored in Postgres, `reason` and `position` go to the log. */
export type Judgement =
  /** Another run completed it first. This is how a duplicate shows itself; it is not a failure. */
  | { outcome: 'already_finished' }
  /** Postgres failed, not the event: it is tried again, and no attempt is counted. */
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

export function judge(failure: unknown, attemptsBefore: number, random: number, maxAttempts = ATTEMPTS): Judgement {
  if (isCompletedBefore(failure)) return { outcome: 'already_finished' };
  const { reason, error, retryable } = describe(failure);
  if (retryable) return { outcome: 'database_unavailable', reason };
  const position = DatabaseError.isCauseOf(failure) ? undefined : positionOf(failure);
  const attempts = attemptsBefore + 1;
  if (failure instanceof PermanentError || attempts >= maxAttempts) {
    return { outcome: 'parked', reason, error, position };
  }
  const requested = failure instanceof RetryLater ? failure.seconds : Number.NaN;
  const wait = Number.isNaN(requested) ? backoff(attempts, random) : requested;
  const seconds = Math.min(MAX_DELAY_SECONDS, Math.max(1, Math.ceil(wait)));
  return { outcome: 'retry', reason, error, position, seconds };
}

function describe(failure: unknown): { reason: string; error: string; retryable: boolean } {
  if (DatabaseError.isCauseOf(failure)) {
    const { message, retryable } = DatabaseError.from(failure);
    return { reason: message, error: message, retryable };
  }
  if (!(failure instanceof Error)) {
    const text = 'the thrown value is not an Error';
    return { reason: text, error: text, retryable: false };
  }
  const { name, message } = failure;
  // Postgres can't store NUL.
  const error = `${name}: ${message}`
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MAX_ERROR_LENGTH);
  return { reason: name, error, retryable: false };
}
