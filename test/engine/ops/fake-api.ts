import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { listen } from '../../../scripts/lib/port.ts';

export const TOKEN = 'an-operator-token-of-more-than-32-characters';
const NOW = '2026-03-01T12:00:00.000Z';

interface Call {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** A text is sent as it is. */
  readonly json: unknown;
}

export function event(id: string, more: object = {}) {
  const times = { received_at: NOW, finished_at: NOW, due_at: NOW };
  return {
    source: 'stripe',
    event_id: id,
    type: 'paid',
    status: 'parked',
    attempts: 1,
    max_attempts: 12,
    position: null,
    parked_effects: 0,
    effect_error: null,
    failure: 'handler',
    last_error: 'Error: no',
    summary: null,
    completions: 0,
    ...times,
    ...more,
  };
}

export const problem = (status: number, title: string, detail?: string): Answer => ({
  status,
  json: { title, detail },
});

/** An ops Worker that answers as the API under /ops/api does, with what a test puts into it. */
export function useFakeApi() {
  const api = {
    url: '',
    calls: [] as Call[],
    events: [] as ReturnType<typeof event>[],
    /** Answers instead of the API, unless it returns undefined. */
    instead: (_call: Call): Answer | undefined => undefined,
  };
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const { method = '', url: path = '', headers } = request;
    const call = { method, path, headers, body: body === '' ? undefined : JSON.parse(body) };
    api.calls.push(call);
    const { status = 200, headers: more = {}, json } = api.instead(call) ?? answer(call, api.events);
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(typeof json === 'string' ? json : JSON.stringify(json));
  });
  beforeAll(async () => {
    api.url = `http://127.0.0.1:${await listen(server, 0)}`;
  });
  beforeEach(() => {
    Object.assign(api, { calls: [], events: [event('evt_1'), event('evt_2')], instead: () => undefined });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return api;
}

function answer({ method, path, headers, body }: Call, events: ReturnType<typeof event>[]): Answer {
  const { pathname, searchParams: query } = new URL(path, 'http://x');
  if (headers.authorization !== `Bearer ${TOKEN}`) return problem(401, 'The API needs OPS_TOKEN');
  if (method === 'POST' && headers.origin !== `http://${headers.host}`) return problem(403, 'Another site sent this');
  const [, , , first, source, id, action] = pathname.split('/').map(decodeURIComponent);
  if (first === 'status') return { json: STATUS };
  if (first !== 'events') return problem(404, 'There is nothing at this address');
  if (source === undefined) {
    const matching = events.filter(({ status }) => !query.has('status') || status === query.get('status'));
    const from = Number(query.get('cursor') ?? 0);
    const until = from + Number(query.get('limit'));
    return {
      json: { events: matching.slice(from, until), next_cursor: until < matching.length ? String(until) : null },
    };
  }
  if (id === undefined) {
    if (query.get('dry_run') === '1') return { json: matchingOf(events) };
    const { expected } = body as { expected: string };
    if (expected !== matchingOf(events).expected) return problem(409, 'Other events match', 'evt_3 is one of them');
    return { json: { events: events.length, effects: 1 } };
  }
  const found = events.find((one) => one.source === source && one.event_id === id);
  if (found === undefined) return problem(404, 'There is no such event');
  if (action !== undefined) return { json: { events: found.status === 'parked' ? 1 : 0, effects: 0 } };
  return { json: { ...found, ...DETAILS } };
}

function matchingOf(events: ReturnType<typeof event>[]) {
  const ids = events.map(({ event_id }) => event_id);
  const first = { event_ids: ids.slice(0, 5), others: Math.max(0, ids.length - 5) };
  const group = { source: 'stripe', failure: 'handler', events: ids.length, effects: 0, ...first };
  return { matching: ids.length, expected: `${ids.length}-${ids}`, groups: ids.length === 0 ? [] : [group] };
}

const STATUS = {
  problems: [
    {
      what: 'event',
      status: 'parked',
      count: 2,
      source: 'stripe',
      type: 'paid',
      kinds: [],
      failure: 'handler',
      error: 'Error: no',
      errors: 1,
      position: 'handle (src/app/handlers/paid.ts:24)',
      event_id: 'evt_1',
      since: NOW,
      latest: NOW,
      next_attempt_at: null,
    },
  ],
  sources: [
    {
      source: 'stripe',
      last_accepted_at: NOW,
      accepted_per_hour: Array.from({ length: 24 }, (_, n) => n),
      accepted_last_week: null,
      unusually_silent: false,
      pending: 3,
      parked: 2,
      oldest_pending_at: NOW,
      seconds_to_done: { p50: 0.412, p95: 12.3 },
    },
    {
      source: 'github',
      last_accepted_at: null,
      accepted_per_hour: Array.from({ length: 24 }, () => 0),
      accepted_last_week: 0,
      unusually_silent: false,
      pending: 0,
      parked: 0,
      oldest_pending_at: null,
      seconds_to_done: { p50: null, p95: null },
    },
  ],
  effects: { pending: 1, parked: 4, sent_last_day: 312, oldest_pending_at: null },
  effect_kinds: [],
  totals: { pending: 3, parked: 2, oldest_pending_at: NOW },
};

const DETAILS = {
  occurred_at: NOW,
  not_before: null,
  failed_paths: ['data.object.id'],
  fingerprint: null,
  replay_number: 0,
  body: '{"amount":12345678901234567890}',
  body_length: 31,
  headers: { 'content-type': 'application/json' },
  effects: [
    {
      name: 'receipt',
      kind: 'mail',
      status: 'sent',
      attempts: 1,
      max_attempts: null,
      position: null,
      failure: null,
      last_error: null,
      idempotency_key: 'key-1',
      due_at: NOW,
      not_before: null,
      sent_at: NOW,
    },
  ],
  actions: [{ at: NOW, who: 'token (oncall)', action: 'retry', reason: 'the handler is fixed', effects: ['receipt'] }],
};
