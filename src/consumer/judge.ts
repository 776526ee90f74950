import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { PermanentError, RetryLater } from '../kit/index.ts';
import { backoff } from './backoff.ts';

/** What becomes of work that did not succeed. `error` goes beside the body in Postgres, `reason` may go to a log. */
export type Judgement =
  /** Somebody else finished it first. That is how a duplicate shows itself, not a failure. */
  | { outcome: 'already' }
  /** Postgres is at fault, not the event: it waits, and no attempt is counted. */
  | { outcome: 'waits'; reason: string }
  | { outcome: 'retries'; reason: string; error: string; seconds: number }
  | { outcome: 'parks'; reason: string; error: string };

/** Tries before an event or an effect is parked, where nobody says otherwise. */
const ATTEMPTS = 12;

/** A queue delays a message by no more than a day. */
const MAX_DELAY_SECONDS = 86_400;

export function judge(failure: unknown, attemptsBefore: number, random: number, attempts = ATTEMPTS): Judgement {
  if (isCompletedBefore(failure)) return { outcome: 'already' };
  const { reason, error, retryable } = describe(failure);
  if (retryable) return { outcome: 'waits', reason };
  const failures = attemptsBefore + 1;
  if (failure instanceof PermanentError || failures >= attempts) return { outcome: 'parks', reason, error };
  const asked = failure instanceof RetryLater ? failure.seconds : Number.NaN;
  const seconds = Number.isNaN(asked) ? backoff(failures, random) : asked;
  return { outcome: 'retries', reason, error, seconds: Math.min(MAX_DELAY_SECONDS, Math.max(1, Math.ceil(seconds))) };
}

function describe(failure: unknown): { reason: string; error: string; retryable: boolean } {
  if (DatabaseError.isCauseOf(failure)) {
    const { message, retryable } = DatabaseError.from(failure);
    return { reason: message, error: message, retryable };
  }
  if (!(failure instanceof Error)) {
    const text = 'something that is not an Error was thrown';
    return { reason: text, error: text, retryable: false };
  }
  const { name, message } = failure;
  // Postgres can't store NUL, and what is longer than a screen helps nobody.
  const error = `${name}: ${message}`
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, 1000);
  return { reason: name, error, retryable: false };
}
