import type { ConsumerEnv } from '../kit/index.ts';

/** How often a provider is asked: at the first tick after so much time. */
export const EVERY_MS = {
  '15 minutes': 0,
  '1 hour': 3_600_000,
  '6 hours': 6 * 3_600_000,
  '1 day': 86_400_000,
} as const;

interface Kind {
  /** Default: at every tick, every 15 minutes. */
  readonly every?: keyof typeof EVERY_MS;
  /**
   * The name of the secret that the API wants. Once its value has changed, nothing is claimed before the API has listed an
   * event that is known here: it could be the key of another account.
   */
  readonly key?: string;
  /** What else says whose events these are, such as a hook. If it changes, it is as if the key had changed. */
  readonly about?: string;
}

/**
 * What `list` and its like get.
 *
 * @example
 * const ask = ({ fetch, env, signal }: ReconcileTools) =>
 *   fetch('https://api.example.com/orders', { headers: { authorization: `Bearer ${env.API_TOKEN}` }, signal });
 */
export interface ReconcileTools {
  readonly fetch: typeof fetch;
  /** The variables and secrets of the consumer Worker. */
  readonly env: ConsumerEnv;
  /** Aborts the calls when their time is up. */
  readonly signal: AbortSignal;
  readonly now: Date;
}

/**
 * The window that is asked for, and the types of the source.
 *
 * @example
 * const query = ({ since, until }: ReconcileWindow) => `from=${since.toISOString()}&to=${until.toISOString()}`;
 */
export interface ReconcileWindow extends ReconcileTools {
  readonly since: Date;
  readonly until: Date;
  /** Those of the source. Empty if it doesn't name all of them. */
  readonly types: readonly string[];
}

/**
 * The API lists the events themselves, each as its delivery has it in the body, with the same id.
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
   * Everything of these types that was sent from `since` until before `until`. It may return more: by its id, its type and its
   * time, each event is taken or left. Events of one moment are worked in this order. `'too many'` asks for a window of half the length.
   */
  readonly list: (window: ReconcileWindow) => Promise<readonly unknown[] | 'too many'>;
  /** Paths of values that are the same in all events of your endpoint. An event that is listed with another value is parked. */
  readonly same?: readonly string[];
}

/**
 * A delivery as its provider lists it.
 *
 * @example
 * const first: ListedDelivery = { id: '7', eventId: 'evt_1', at: new Date('2026-03-01T12:00Z'), isAgain: false };
 */
export interface ListedDelivery {
  /** What `redeliver` gets. */
  readonly id: string;
  /** The id of the event as the receiver reads it. */
  readonly eventId: string;
  readonly at: Date;
  /** Whether it was asked for. */
  readonly isAgain: boolean;
}

/**
 * The API lists what it has sent, without the events, and sends a delivery again when it is asked to.
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
  /** A page, the newest delivery first. `next` is the `page` with which it is asked for the next one. */
  readonly deliveries: (
    tools: ReconcileTools & { readonly page?: string },
  ) => Promise<{ readonly deliveries: readonly ListedDelivery[]; readonly next?: string | undefined }>;
  readonly redeliver: (id: string, tools: ReconcileTools) => Promise<void>;
}

/** What can't be used, in a sentence that may be logged. */
export class ReconcileError extends Error {
  override readonly name = 'ReconcileError';
}
