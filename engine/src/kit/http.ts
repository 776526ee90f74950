import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ofOtherSide, PermanentError, RetryLater, withFailure } from './errors.ts';
import type { Tools } from './handler.ts';

/** Other events of the batch are waiting, so give up after this time. The event is retried later. */
const TIMEOUT_MS = 10_000;

/**
 * 4xx answers that may be temporary: a refused key (it may be changed, or a rate limit may be the cause), time-out,
 * conflict, too early, too many requests. Any other 4xx means that the request is wrong.
 */
const TEMPORARY_STATUS = [401, 403, 408, 409, 425, 429];

/** A conflict is about the request. The others, and any 5xx, say that the other side takes no request now. */
function isOfOtherSide(status: number): boolean {
  return status >= 500 || (status !== 409 && TEMPORARY_STATUS.includes(status));
}

/** A read replica of the provider may be a moment behind the event. */
const SECOND_TRY_AFTER_MS = 1000;

/**
 * The error to throw for a response: `undefined` for a success, a `PermanentError` for a wrong request. Honours
 * `Retry-After`.
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
  // Names only the host, because a path or a query may be secret. A Response that was constructed by hand has no URL.
  const host = URL.parse(url)?.host ?? '';
  const message = `${host || 'the other side'} answered ${status}`;
  if (status >= 400 && status < 500 && !TEMPORARY_STATUS.includes(status)) return new PermanentError(message);
  const seconds = secondsUntil(headers.get('retry-after') ?? '', now);
  const error = seconds > 0 && Number.isFinite(seconds) ? new RetryLater(seconds, message) : new Error(message);
  return isOfOtherSide(status) ? ofOtherSide(error, { host, problem: message }) : error;
}

/**
 * Reads a number of seconds or an HTTP date (RFC 9110, section 10.2.3). Some services send a fraction, which
 * `Date.parse` can mistake for a year, so a date must contain a colon.
 */
function secondsUntil(retryAfter: string, now: Date): number {
  if (!retryAfter.includes(':')) return Number(retryAfter);
  return (Date.parse(retryAfter) - now.getTime()) / 1000;
}

/**
 * Fetches the current state of an object, for events that only say that it has changed. `gone` means that it no longer
 * exists (410, or 404 twice). Use `init` for headers with a key from `env`. Redirects are then not followed, because
 * they would carry the key along.
 *
 * @example
 * const Order = v.object({ status: v.string() });
 * const order = await currentState(tools, `https://api.example.com/orders/${id}`, Order, {
 *   headers: { authorization: `Bearer ${tools.env.API_TOKEN}` },
 * });
 * if (order === 'gone') return [db.delete(orders).where(eq(orders.id, id))];
 */
export async function currentState<Schema extends StandardSchemaV1>(
  { fetch, now }: Pick<Tools, 'fetch' | 'now'>,
  url: string,
  schema: Schema,
  init?: { readonly headers: Readonly<Record<string, string>> },
): Promise<StandardSchemaV1.InferOutput<Schema> | 'gone'> {
  const headers = new Headers(init?.headers);
  if (!headers.has('accept')) headers.set('accept', 'application/json');
  // GitHub refuses requests without a user agent.
  if (!headers.has('user-agent')) headers.set('user-agent', 'claimcheck');
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const ask = () => fetch(url, { headers, signal, redirect: init ? 'manual' : 'follow' });
  let response = await ask();
  if (response.status === 404) {
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, SECOND_TRY_AFTER_MS));
    response = await ask();
  }
  const error = errorFromResponse(response, now);
  if (error) {
    await response.body?.cancel();
    if (response.status === 404 || response.status === 410) return 'gone';
    throw error;
  }
  const result = await schema['~standard'].validate(await response.json());
  // Omit the paths, because the paths of a failure refer to the event's body.
  if (result.issues) throw withFailure(new PermanentError('the current state does not match its schema'), 'schema');
  return result.value;
}
