import fc from 'fast-check';
import type { Sent } from './receiver.ts';
import { TOKEN } from './receiver.ts';
import { headerValue, json, text } from './values.ts';

/** A request to the console, or to an address where there is nothing. */
export interface HostileVisit {
  readonly kind: 'visit';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const segment = text.map((value) => encodeURIComponent(value.toWellFormed()));
/** A path with hostile segments in place of the colons. */
const path = fc
  .tuple(
    fc.constantFrom(
      '/ops',
      '/ops/',
      '/ops/events',
      '/ops/event',
      '/ops/event/body',
      '/ops/bulk',
      '/ops/sign-in',
      '/ops/sign-out',
      '/ops/metrics',
      '/ops/assets/:',
      '/ops/:',
      '/ops/api/status',
      '/ops/api/events',
      '/ops/api/activity',
      '/ops/api/openapi.json',
      '/ops/api/events/:',
      '/ops/api/events/:/:',
      '/ops/api/events/:/:/:',
      '/ops/api/events/retry',
      '/ops/api/events/stripe/:/discard',
      '/webhooks/:',
      '/webhooks/:/:',
      '/:',
    ),
    fc.array(fc.oneof(segment, fc.stringMatching(/^[!-"$-.0-9:-~]{0,20}$/)), { minLength: 3, maxLength: 3 }),
  )
  .map(([route, segments]) => segments.reduce((filled, one) => filled.replace(':', () => one), route));

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
    .tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 40 }), fc.integer({ min: -99, max: 99 }))
    .map(([year, day, zone]) => {
      const two = (value: number) => String(Math.abs(value)).padStart(2, '0');
      return `${String(year).padStart(4, '0')}-01-${two(day)}T00:00${zone < 0 ? '-' : '+'}${two(zone)}:00`;
    }),
);

/** Cursors of the form that the API gives out, with other values in them. */
const cursor = fc
  .array(
    fc.oneof(
      json,
      time.map((value) => JSON.stringify(value.replace('T', ' ').replace(/(\d\d:\d\d)([+-]\d\d):00$/, '$1:00$2'))),
      fc.constantFrom('"stripe"', '8640000000000000', '-8640000000000000', '[[1,2]]', '[1]', '[null]', '[["a"]]'),
    ),
    { maxLength: 4 },
  )
  .map((values) => Buffer.from(`[${values.join(',')}]`).toString('base64url'));

const QUERY = ['source', 'status', 'type', 'effect_status', 'q', 'event_id', 'changed', 'action', 'dry_run', 'cursor'];
const query = fc
  .tuple(
    fc.dictionary(fc.oneof(fc.constantFrom(...QUERY), text), text, { maxKeys: 3 }),
    fc.dictionary(fc.constantFrom('since', 'until'), time, { maxKeys: 1 }),
    fc.dictionary(fc.constantFrom('cursor', 'after'), cursor, { maxKeys: 1 }),
    fc.dictionary(fc.constant('limit'), fc.constantFrom('0', '1', '500', '501', '1e3', 'NaN', '-1', ' '), {
      maxKeys: 1,
    }),
  )
  .map((parts) => new URLSearchParams(Object.entries(Object.assign({}, ...parts))).toString());

const filter = fc.dictionary(
  fc.constantFrom('source', 'status', 'type', 'q', 'since', 'until', '__proto__'),
  fc.oneof(text, time),
);
const order = fc
  .record(
    {
      filter: fc.oneof(filter, fc.constantFrom(null, [], 'x')),
      expected: fc.oneof(fc.integer(), fc.double()),
      reason: text,
      effects: fc.boolean(),
      action: fc.constantFrom('retry', 'discard', 'rerun', '__proto__'),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value));

/** Also from an operator who is signed in, because nobody else gets to most of the console. */
export const visit = (formToken: () => string): fc.Arbitrary<HostileVisit> =>
  fc.record({
    kind: fc.constant('visit'),
    method: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('GET', 'POST') },
      fc.constantFrom('HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
    ),
    path: fc.tuple(path, query).map(([route, search]) => (search === '' ? route : `${route}?${search}`)),
    headers: fc
      .tuple(
        fc.constantFrom('localhost', 'localhost', 'hooks.example.com'),
        fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain', ''),
        fc.oneof(fc.constant(`Bearer ${TOKEN}`), headerValue),
        fc.dictionary(
          fc.constantFrom('cookie', 'origin', 'sec-fetch-site', 'x-ops-actor', 'x-forwarded-for', 'cf-connecting-ip'),
          headerValue,
          { maxKeys: 2 },
        ),
      )
      .map(([host, type, authorization, others]) => ({ host, 'content-type': type, authorization, ...others })),
    body: fc.oneof(
      order,
      json,
      fc
        .dictionary(
          fc.constantFrom('action', 'reason', 'expected', 'understood', 'effects', 'token', 'next', 'name'),
          text,
        )
        .map((fields) => new URLSearchParams([['form_token', formToken()], ...Object.entries(fields)]).toString()),
    ),
  });

export function sentOf({ method, path: address, headers, body }: HostileVisit): Sent {
  const bytes = Buffer.from(method === 'GET' || method === 'HEAD' ? '' : body);
  return { method, path: address, headers: { ...headers, 'content-length': bytes.length }, body: bytes };
}
