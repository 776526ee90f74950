// Stand-ins for the APIs of Stripe and GitHub, as their documents describe them. They know what they have sent.
import { vi } from 'vitest';

export interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly api_version: string;
  readonly data: object;
}

/** What answers a request in place of a provider: an error, or another list. */
type Instead = ((url: URL) => Response | undefined) | undefined;

/** https://docs.stripe.com/api/events/list */
export class StripeApi {
  readonly events: StripeEvent[] = [];
  instead: Instead;
  calls = 0;

  answer(url: URL, key: string | null): Response {
    this.calls++;
    const instead = this.instead?.(url);
    if (instead) return instead;
    if (key !== 'Bearer rk_live_of_acme') return Response.json({ data: [], has_more: false });
    const { searchParams: query } = url;
    const types = query.getAll('types[]');
    if (types.length > 20) return Response.json({ error: {} }, { status: 400 });
    const matching = this.events
      .filter(({ type }) => types.length === 0 || types.includes(type))
      .filter(
        ({ created }) => created >= Number(query.get('created[gte]')) && created < Number(query.get('created[lt]')),
      )
      .toReversed();
    const after = query.get('starting_after');
    const from = after === null ? 0 : matching.findIndex(({ id }) => id === after) + 1;
    const limit = Number(query.get('limit') ?? 10);
    const data = matching.slice(from, from + limit);
    return Response.json({ object: 'list', url: '/v1/events', has_more: from + limit < matching.length, data });
  }
}

interface GitHubDelivery {
  /** Longer than an integer of JavaScript. */
  readonly id: string;
  readonly guid: string;
  readonly delivered_at: string;
  readonly redelivery: boolean;
  readonly status_code: number;
}

/** https://docs.github.com/en/rest/repos/webhooks#list-deliveries-for-a-repository-webhook */
export class GitHubApi {
  readonly deliveries: GitHubDelivery[] = [];
  readonly #bodies = new Map<string, string>();
  readonly #send: (guid: string, body: string) => Promise<number>;
  readonly #now: () => Date;
  instead: Instead;

  constructor(now: () => Date, send: (guid: string, body: string) => Promise<number>) {
    this.#now = now;
    this.#send = send;
  }

  async deliver(guid: string, body = this.#bodies.get(guid) ?? ''): Promise<void> {
    const redelivery = this.#bodies.has(guid);
    this.#bodies.set(guid, body);
    const status_code = await this.#send(guid, body);
    const id = String(9_007_199_254_740_993n + BigInt(this.deliveries.length));
    this.deliveries.push({ id, guid, delivered_at: this.#now().toISOString(), redelivery, status_code });
  }

  async answer(url: URL, method: string, token: string | null): Promise<Response> {
    const instead = this.instead?.(url);
    if (instead) return instead;
    if (token !== 'Bearer github_pat_of_acme') return Response.json({}, { status: 401 });
    const path = '/orgs/acme/hooks/1/deliveries';
    if (method === 'POST') {
      const id = /\/deliveries\/(\d+)\/attempts$/.exec(url.pathname)?.[1];
      const delivery = this.deliveries.find((one) => one.id === id);
      if (!delivery) return Response.json({}, { status: 404 });
      await this.deliver(delivery.guid);
      return Response.json({}, { status: 202 });
    }
    if (url.pathname !== path) return Response.json({}, { status: 404 });
    const perPage = Number(url.searchParams.get('per_page') ?? 30);
    const cursor = url.searchParams.get('cursor');
    const kept = this.deliveries.filter((one) => Date.parse(one.delivered_at) > this.#now().getTime() - 3 * 86_400_000);
    const newestFirst = kept.toReversed();
    const from = cursor === null ? 0 : newestFirst.findIndex(({ id }) => id === cursor);
    const page = newestFirst.slice(from, from + perPage);
    const next = newestFirst[from + perPage]?.id;
    const link = next
      ? { link: `<https://api.github.com${path}?per_page=${perPage}&cursor=${next}>; rel="next"` }
      : undefined;
    // The id as a number, which JSON.parse would round.
    const text = JSON.stringify(page).replaceAll(/"id":"(\d+)"/g, '"id":$1');
    return new Response(text, { headers: { 'content-type': 'application/json', ...link } });
  }
}

/** Whether a request goes out: `lost` if it does, and its answer is lost. */
export type Gate = (() => 'open' | 'closed' | 'lost') | undefined;

/** Takes the place of `fetch`. A closed gate is what a killed isolate looks like from outside: nothing goes out any more. */
export function answerFor(stripe: StripeApi, github: GitHubApi, gate: () => Gate) {
  const send = globalThis.fetch;
  // What the receiver does while GitHub delivers again is not done by the isolate.
  let delivering = 0;
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const state = delivering > 0 ? 'open' : (gate()?.() ?? 'open');
    if (state === 'closed') throw new TypeError('the isolate is gone');
    const url = new URL(input instanceof Request ? input.url : String(input));
    const authorization = new Headers(init?.headers).get('authorization');
    const answer = async () => {
      if (url.host === 'api.stripe.com') return stripe.answer(url, authorization);
      if (url.host === 'api.github.com') {
        delivering++;
        return github.answer(url, init?.method ?? 'GET', authorization).finally(() => delivering--);
      }
      return send(input, init);
    };
    const response = await answer();
    if (state === 'lost') throw new TypeError('the isolate is gone');
    return response;
  });
}
