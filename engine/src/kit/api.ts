import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PermanentError, RetryLater, withFailure } from './errors.ts';
import type { Tools } from './handler.ts';

/** Give up after this time, because the other events of the batch wait. The event is tried again later. */
const TIMEOUT_MS = 10_000;

/** 4xx that may pass: time-out, conflict, too early, too many requests. Any other says that the request is wrong. */
const TEMPORARY_STATUS = [408, 409, 425, 429];

/**
 * The error for a response: none for a success, permanent for a wrong request. Honours `Retry-After`.
 *
 * @example
 * const response = await fetch('https://api.example.com/orders/1');
 * const error = errorFromResponse(response, now);
 * if (error) throw error;
 */
export function errorFromResponse(response: Response, now: Date): Error | undefined {
  return response.ok ? undefined : withFailure(errorFromRefusal(response, now), 'response');
}

function errorFromRefusal({ status, headers, url }: Response, now: Date): Error {
  // Only the host, because a path or a query may be a secret. A Response that was made by hand has no URL.
  const message = `${URL.parse(url)?.host || 'the other side'} answered ${status}`;
  if (status >= 400 && status < 500 && !TEMPORARY_STATUS.includes(status)) return new PermanentError(message);
  const seconds = secondsUntil(headers.get('retry-after') ?? '', now);
  return seconds > 0 && Number.isFinite(seconds) ? new RetryLater(seconds, message) : new Error(message);
}

/**
 * A number of seconds, or an HTTP date (RFC 9110, section 10.2.3). Some services send a fraction, which `Date.parse` would
 * take for the year 3600: a date has a colon.
 */
function secondsUntil(retryAfter: string, now: Date): number {
  if (!retryAfter.includes(':')) return Number(retryAfter);
  return (Date.parse(retryAfter) - now.getTime()) / 1000;
}

/**
 * Fetches the current state of a thing, for events that only say that it has changed.
 *
 * @example
 * const Order = v.object({ status: v.string() });
 * const { status } = await currentState(tools, `https://api.example.com/orders/${id}`, Order);
 */
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
  const error = errorFromResponse(response, now);
  if (error) {
    await response.body?.cancel();
    throw error;
  }
  const result = await schema['~standard'].validate(await response.json());
  // Without the paths: those of a failure are paths in the event's own body.
  if (result.issues) throw withFailure(new PermanentError('the current state does not match its schema'), 'schema');
  return result.value;
}
