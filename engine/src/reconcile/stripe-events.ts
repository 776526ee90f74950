import { errorFromResponse } from '../kit/index.ts';
import { parseJson } from '../shared/json.ts';
import { settingOf } from '../shared/settings.ts';
import { type ListedEvents, ReconcileError, type ReconcileTools } from './kinds.ts';

/** https://docs.stripe.com/api/events/list */
const LIST_URL = 'https://api.stripe.com/v1/events';

/** The API's limits for types in one request, and for events on one page. */
const MAX_TYPES = 20;
const PAGE = 100;

/** Limited because all their bodies are in memory at the same time. */
const MAX_PAGES = 3;

/**
 * Reconciles with Stripe's API, which lists events for 30 days. `key` names the secret: a restricted key that may read
 * events, for the same account and mode (live or test) as your endpoint. For a Connect endpoint, `account` is the
 * connected account. The API doesn't list thin events. It writes events in the account's default API version; if your
 * endpoint has another version, they are parked.
 *
 * @example
 * export const reconcile = defineReconcile(sources, {
 *   billing: stripeEvents({ key: 'STRIPE_API_KEY' }),
 * });
 */
export function stripeEvents({ key, account }: { readonly key: string; readonly account?: string }): ListedEvents {
  return {
    key,
    ...(account !== undefined && { about: account }),
    same: ['livemode', 'account', 'api_version'],
    async list({ since, until, types, ...tools }) {
      const events: object[] = [];
      // Read all pages of a one-second window, because a shorter window isn't possible.
      const maxPages = until.getTime() - since.getTime() <= 1000 ? Number.POSITIVE_INFINITY : MAX_PAGES;
      for (let from = 0; from === 0 || from < types.length; from += MAX_TYPES) {
        const query = new URLSearchParams({
          limit: String(PAGE),
          'created[gte]': String(Math.floor(since.getTime() / 1000)),
          'created[lt]': String(Math.ceil(until.getTime() / 1000)),
        });
        for (const type of types.slice(from, from + MAX_TYPES)) query.append('types[]', type);
        for (let page = 1; ; page++) {
          const { data, has_more: hasMore } = await listPage(query, settingOf(tools.env, key) ?? '', account, tools);
          events.push(...data);
          const last: unknown = Reflect.get(data.at(-1) ?? {}, 'id');
          if (!hasMore || typeof last !== 'string') break;
          if (page === maxPages) return 'too many';
          query.set('starting_after', last);
        }
      }
      // Stripe lists the newest first. A Connect delivery contains its account, which a list of one account may omit.
      const oldestFirst = events.toReversed();
      return account === undefined ? oldestFirst : oldestFirst.map((event) => ({ account, ...event }));
    },
  };
}

async function listPage(
  query: URLSearchParams,
  key: string,
  account: string | undefined,
  { fetch, signal, now }: ReconcileTools,
): Promise<{ readonly data: readonly object[]; readonly has_more: unknown }> {
  const headers = { authorization: `Bearer ${key}`, ...(account !== undefined && { 'stripe-account': account }) };
  const response = await fetch(`${LIST_URL}?${query}`, { headers, signal, redirect: 'manual' });
  const error = errorFromResponse(response, now);
  if (error) throw error;
  const parsed = parseJson(await response.text());
  const { data, has_more } = (parsed.outcome === 'parsed' ? (parsed.json ?? {}) : {}) as {
    data?: unknown;
    has_more?: unknown;
  };
  const isList = Array.isArray(data) && data.every((one) => typeof one === 'object' && one !== null);
  if (!isList) throw new ReconcileError("Stripe's answer is not a list of events");
  return { data, has_more };
}
