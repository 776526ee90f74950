import { PermanentError, RetryLater } from '../app/define.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { backoff } from './backoff.ts';

/** What becomes of an event whose work did not commit. */
export type Judgement =
  /** Somebody else finished it first. That is how a duplicate shows itself, not a failure. */
  | { outcome: 'already' }
  /** Postgres is at fault, not the event: it waits, and no attempt is counted. */
  | { outcome: 'waits'; error: string }
  | { outcome: 'retries'; error: string; seconds: number }
  | { outcome: 'parks'; error: string };

/** Tries before an event is parked, where its handler doesn't say. */
const ATTEMPTS = 12;

/** A queue delays a message by no more than a day. */
const MAX_DELAY_SECONDS = 86_400;

export function judge(error: unknown, attemptsBefore: number, attempts = ATTEMPTS, random = Math.random()): Judgement {
  if (isCompletedBefore(error)) return { outcome: 'already' };
  const text = describe(error);
  if (DatabaseError.isCauseOf(error) && DatabaseError.from(error).retryable) return { outcome: 'waits', error: text };
  const failures = attemptsBefore + 1;
  if (error instanceof PermanentError || failures >= attempts) return { outcome: 'parks', error: text };
  const seconds = error instanceof RetryLater ? error.seconds : backoff(failures, random);
  return { outcome: 'retries', error: text, seconds: Math.min(MAX_DELAY_SECONDS, Math.max(1, Math.ceil(seconds))) };
}

/** For `last_error`, which stands beside the body in Postgres. It never goes to a log. */
function describe(error: unknown): string {
  if (DatabaseError.isCauseOf(error)) return DatabaseError.from(error).message;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'something that is not an Error was thrown';
  // Postgres can't store NUL, and what is longer than a screen helps nobody.
  return text
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, 1000);
}
