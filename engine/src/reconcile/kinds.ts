import type { ConsumerEnv } from '../kit/index.ts';

/** How often a provider is asked: at the first tick after this time. */
export const EVERY_MS = {
  '15 minutes': 0,
  '1 hour': 3_600_000,
  '6 hours': 6 * 3_600_000,
  '1 day': 86_400_000,
} as const;

interface Kind {
  /** Default: at every tick (15 minutes). */
  readonly every?: keyof typeof EVERY_MS;
  /**
   * The name of the secret for the API. After its value has changed, nothing is claimed until the API lists an event
   * that is known here, because the new key could belong to another account.
   */
  readonly key?: string;
  /** Anything else that identifies the account, such as a hook. A change has the same effect as a new key. */
  readonly about?: string;
}

/**
 * The tools that `list`, `deliveries` and `redeliver` receive.
 *
 * @example
 * const ask = ({ fetch, env, signal }: ReconcileTools) =>
 *   fetch('https://api.example.com/orders', { headers: { authorization: `Bearer ${env.API_TOKEN}` }, signal });
 */
export interface ReconcileTools {
  readonly fetch: typeof fetch;
  /** The variables and secrets of the consumer Worker. */
  readonly env: ConsumerEnv;
  /** Aborts a call that takes too long. */
  readonly signal: AbortSignal;
  readonly now: Date;
}

/**
 * The requested window of time, and the types of the source.
 *
 * @example
 * const query = ({ since, until }: ReconcileWindow) => `from=${since.toISOString()}&to=${until.toISOString()}`;
 */
export interface ReconcileWindow extends ReconcileTools {
  readonly since: Date;
  readonly until: Date;
  /** The types of the source, or empty if some are patterns. */
  readonly types: readonly string[];
}

/**
 * For an API that lists the events themselves, each with the same id and content as in the body of its delivery.
 *
 * @example
 * const orders: ListedEvents = {
 *   every: '1 hour',
 *   key: 'API_TOKEN',
 *   async list({ since, until, fetch, env, signal, now }) {
 *     const query = `from=${since.toISOString()}&to=${until.toISOString()}&limit=500`;
 *     const headers = { authorization: `Bearer ${env.API_TOKEN}` };
 *     const response = await fetch(`https://api.example.com/events?${query}`, { headers, signal });
 *     const error = errorFromResponse(response, now);
 *     if (error) throw error;
 *     const events: unknown[] = await response.json();
 *     return events.length === 500 ? 'too many' : events;
 *   },
 * };
 */
export interface ListedEvents extends Kind {
  /**
   * Returns all events of these types that were sent at or after `since` and before `until`. Additional events are
   * ignored. Events of the same time are worked in this order. Return `'too many'` to be called with a window of half
   * the length.
   */
  readonly list: (window: ReconcileWindow) => Promise<readonly unknown[] | 'too many'>;
  /**
   * Paths of values that are equal in all events of your endpoint. An event that is listed with a different value is
   * parked.
   */
  readonly same?: readonly string[];
}

/**
 * A delivery in a provider's list.
 *
 * @example
 * const first: ListedDelivery = { id: '7', eventId: 'evt_1', at: new Date('2026-03-01T12:00Z'), isAgain: false };
 */
export interface ListedDelivery {
  /** The id for `redeliver`. */
  readonly id: string;
  /** The id of the event as the receiver reads it. */
  readonly eventId: string;
  readonly at: Date;
  /** Whether somebody requested this delivery. */
  readonly isAgain: boolean;
}

/**
 * For an API that lists deliveries without their events and can send a delivery again.
 *
 * @example
 * const hooks: ListedDeliveries = {
 *   key: 'API_TOKEN',
 *   deliveries: async ({ page = 'https://api.example.com/deliveries', fetch, signal }) => {
 *     const { items, next } = (await (await fetch(page, { signal })).json()) as {
 *       items: { id: string; event: string; at: string; again: boolean }[];
 *       next?: string;
 *     };
 *     const deliveries = items.map(({ id, event, at, again }) => ({ id, eventId: event, at: new Date(at), isAgain: again }));
 *     return { deliveries, next };
 *   },
 *   redeliver: async (id, { fetch, signal, now }) => {
 *     const response = await fetch(`https://api.example.com/deliveries/${id}/again`, { method: 'POST', signal });
 *     const error = errorFromResponse(response, now);
 *     if (error) throw error;
 *   },
 * };
 */
export interface ListedDeliveries extends Kind {
  /** Returns a page, newest delivery first. `next` is the `page` of the next call. */
  readonly deliveries: (
    tools: ReconcileTools & { readonly page?: string },
  ) => Promise<{ readonly deliveries: readonly ListedDelivery[]; readonly next?: string | undefined }>;
  readonly redeliver: (id: string, tools: ReconcileTools) => Promise<void>;
}

/** An error of reconciling whose message may be logged. */
export class ReconcileError extends Error {
  override readonly name = 'ReconcileError';
}
