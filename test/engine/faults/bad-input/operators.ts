import fc from 'fast-check';
import { BEARER, basic } from '../../ops-worker/start.ts';
import type { Sent } from './receiver.ts';
import { headerValue, json, text } from './values.ts';

/** A request to the ops Worker, or to an address where there is nothing. */
export interface OpsRequest {
  readonly kind: 'ops';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Times at the edges of what JavaScript, Postgres and ISO 8601 know. */
const time = fc.oneof(
  fc.constantFrom(
    '0000-01-01',
    '0001-01-01T00:00Z',
    '9999-12-31T23:59:59-15:00',
    '2026-02-30',
    '2026-13-01',
    '2026-01-01T24:00',
  ),
  fc
    .tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 40 }), fc.integer({ min: -30, max: 30 }))
    .map(([year, day, zone]) => {
      const two = (value: number) => String(Math.abs(value)).padStart(2, '0');
      return `${String(year).padStart(4, '0')}-01-${two(day)}T00:00:00${zone < 0 ? '-' : '+'}${two(zone)}:00`;
    }),
);

/** As the API gives them out, but with any values in them. */
const cursor = fc.oneof(
  fc
    .oneof(
      fc.tuple(
        fc.oneof(
          time.map((value) => JSON.stringify(value.replace('T', ' '))),
          json,
        ),
        json,
        json,
      ),
      fc.array(json),
    )
    .map((values) => Buffer.from(`[${values.join(',')}]`).toString('base64url')),
  text,
);

const FILTER = ['source', 'status', 'type', 'failure', 'effect_status', 'q'];
const filter = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...FILTER), text, { maxKeys: 2 }),
    fc.dictionary(fc.constantFrom('since', 'until'), time, { maxKeys: 2 }),
  )
  .map(([fields, times]) => ({ ...fields, ...times }));
const some = (name: string, value: fc.Arbitrary<string>) => fc.dictionary(fc.constant(name), value, { maxKeys: 1 });
const limit = fc.constantFrom('0', '1', '500', '501', '1e3', 'NaN', '-1', ' ');
const anything = fc.dictionary(
  fc.oneof(fc.constantFrom(...FILTER, 'event_id', 'changed', 'action', 'dry_run', 'fresh'), text),
  text,
  { maxKeys: 3 },
);

const segment = text.map((value) => encodeURIComponent(value.toWellFormed()));
const segments = fc.array(fc.oneof(segment, fc.stringMatching(/^[!-"$-.0-9:-~]{0,20}$/)), {
  minLength: 3,
  maxLength: 3,
});

/** A path with hostile segments in place of the colons. */
const route = fc
  .tuple(
    fc.constantFrom(
      '/ops',
      '/ops/event',
      '/ops/event/body',
      '/ops/metrics',
      '/ops/files/:',
      '/ops/:',
      '/ops/api/status',
      '/ops/api/events/:',
      '/ops/api/events/:/:',
      '/ops/api/events/:/:/:',
      '/ops/api/events/retry',
      '/ops/api/events/stripe/:/discard',
      '/webhooks/:',
      '/webhooks/:/:',
      '/:',
    ),
    segments,
  )
  .map(([path, parts]) => parts.reduce((filled, one) => filled.replace(':', () => one), path));

const address = fc
  .oneof(
    fc.tuple(route, anything),
    fc.tuple(fc.constantFrom('/ops/events', '/ops/api/events'), filter, some('cursor', cursor), some('limit', limit)),
    fc.tuple(fc.constant('/ops/bulk'), filter, some('action', text)),
  )
  .map(([path, ...fields]) => {
    const query = new URLSearchParams(Object.entries(Object.assign({}, ...fields) as Record<string, string>));
    return query.size > 0 ? `${path}?${query}` : path;
  });

const action = fc
  .record(
    {
      filter: fc.oneof(filter, anything, fc.constantFrom(null, [], 'x')),
      expected: fc.oneof(fc.integer(), fc.double()),
      reason: text,
      effects: fc.boolean(),
      action: fc.constantFrom('retry', 'discard', 'rerun', '__proto__'),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value));

const OTHER_HEADERS = ['cookie', 'origin', 'sec-fetch-site', 'x-ops-actor', 'x-forwarded-for'];

/** Also from an operator and from our own pages, because nobody else gets to most of the ops Worker. */
export const opsRequest: fc.Arbitrary<OpsRequest> = fc.record({
  kind: fc.constant('ops'),
  method: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('GET', 'POST') },
    fc.constantFrom('HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  ),
  path: address,
  headers: fc
    .tuple(
      fc.constantFrom('localhost', 'localhost', 'localhost', 'hooks.example.com'),
      fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain', ''),
      fc.oneof(
        fc.constant(BEARER),
        text.map((name) => basic(name)),
        headerValue.map((authorization) => ({ authorization })),
      ),
      fc.oneof(
        fc.constant({ 'sec-fetch-site': 'same-origin' }),
        fc.dictionary(fc.constantFrom(...OTHER_HEADERS), headerValue, { maxKeys: 2 }),
      ),
    )
    .map(([host, type, authorized, others]) => ({ host, 'content-type': type, ...authorized, ...others })),
  body: fc.oneof(
    action,
    json,
    fc
      .dictionary(
        fc.constantFrom('action', 'reason', 'expected', 'understood', 'effects'),
        fc.oneof(text, fc.constant('yes')),
      )
      .map((fields) => new URLSearchParams(Object.entries(fields)).toString()),
  ),
});

export function sentOf({ method, path, headers, body }: OpsRequest): Sent {
  const bytes = Buffer.from(method === 'GET' || method === 'HEAD' ? '' : body);
  return { method, path, headers: { ...headers, 'content-length': bytes.length }, body: bytes };
}
