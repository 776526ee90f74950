// For handlers and effects that talk to an API: what its answers mean, and how to ask it for the current state.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PermanentError, RetryLater, type Tools } from './define.ts';

/** An API that needs longer is down: the event is tried again later, and its batch waits no longer for it. */
const TIMEOUT_MS = 10_000;

/** Refusals that may pass: time-out, conflict, too early, too many. Any other 4xx says that the request itself is wrong. */
const PASSING = [408, 409, 425, 429];

/** The error an answer stands for, if it stands for one. `Retry-After` is honoured. */
export function failureOf({ status, ok, headers }: Response, now: Date): Error | undefined {
  if (ok) return undefined;
  const message = `the other side answered ${status}`;
  if (status >= 400 && status < 500 && !PASSING.includes(status)) return new PermanentError(message);
  const seconds = secondsUntil(headers.get('retry-after') ?? '', now);
  return seconds > 0 ? new RetryLater(seconds, message) : new Error(message);
}

/** Seconds, or an HTTP date (RFC 9110, section 10.2.3). */
function secondsUntil(retryAfter: string, now: Date): number {
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - now.getTime()) / 1000;
}

/** Fetches the current state of a thing, where an event is only a hint that it changed. */
export async function currentState<Schema extends StandardSchemaV1>(
  { fetch, now }: Pick<Tools, 'fetch' | 'now'>,
  url: string,
  schema: Schema,
): Promise<StandardSchemaV1.InferOutput<Schema>> {
  const response = await fetch(url, {
    // GitHub refuses requests without a user agent.
    headers: { accept: 'application/json', 'user-agent': 'claimcheck' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const failure = failureOf(response, now);
  if (failure) {
    await response.body?.cancel();
    throw failure;
  }
  const result = await schema['~standard'].validate(await response.json());
  if (result.issues) throw new PermanentError('the current state does not match its schema');
  return result.value;
}
