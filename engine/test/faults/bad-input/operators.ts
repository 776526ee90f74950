import fc from 'fast-check';
import { BEARER, basic } from '../../ops-worker/start.ts';
import type { Sent } from './deliveries.ts';
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
const time = fc
  .tuple(
    fc.constantFrom('0000-01-01', '0001-01-01', '2026-02-30', '2026-13-01', '9999-12-31'),
    fc.constantFrom('', 'T00:00', 'T23:59:59', 'T24:00'),
    fc.constantFrom('', 'Z', '+05:30', '-15:00', '+30:00'),
  )
  .map((parts) => parts.join(''));

/** As the API gives them out, but with any values in them. */
const cursor = fc
  .oneof(
    fc
      .tuple(
        time.map((value) => value.replace('T', ' ')),
        text,
        text,
      )
      .map((values) => JSON.stringify(values)),
    fc.array(json, { minLength: 1, maxLength: 4 }).map((values) => `[${values.join(',')}]`),
    text,
  )
  .map((value) => Buffer.from(value).toString('base64url'));

const FILTER = ['source', 'status', 'type', 'failure', 'effect_status', 'q'];
const fields = (names: readonly string[], value: fc.Arbitrary<string>, maxKeys = 2) =>
  fc.dictionary(fc.constantFrom(...names), value, { maxKeys });
const filter = fc
  .tuple(fields(FILTER, text), fields(['since', 'until'], time))
  .map(([named, times]) => ({ ...named, ...times }));
const limit = fc.constantFrom('0', '1', '500', '501', '1e3', 'NaN', '-1', ' ');
const anything = fields([...FILTER, 'event_id', 'changed', 'action', 'dry_run', 'fresh'], text, 3);

const ROUTES = [
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
];
const segment = fc.oneof(
  text.map((value) => encodeURIComponent(value.toWellFormed())),
  fc.stringMatching(/^[!-"$-.0-9:-~]{0,20}$/),
);
/** A path with hostile segments in place of the colons. */
const route = fc
  .tuple(fc.constantFrom(...ROUTES), fc.array(segment, { minLength: 3, maxLength: 3 }))
  .map(([path, parts]) => parts.reduce((filled, one) => filled.replace(':', () => one), path));

const address = fc
  .oneof(
    fc.tuple(route, anything),
    fc.tuple(
      fc.constantFrom('/ops/events', '/ops/api/events'),
      fc
        .tuple(filter, fields(['cursor'], cursor), fields(['limit'], limit))
        .map((all): Record<string, string> => Object.assign({}, ...all)),
    ),
    fc.tuple(
      fc.constant('/ops/bulk'),
      fc.tuple(filter, text).map(([named, action]) => ({ ...named, action })),
    ),
  )
  .map(([path, query]) => `${path}?${new URLSearchParams(query)}`);

const action = fc
  .record(
    {
      filter: fc.oneof(filter, anything, fc.constantFrom(null, [], 'x')),
      expected: fc.oneof(fc.integer(), fc.stringMatching(/^\d-[0-9a-f]{3}$/)),
      reason: text,
      effects: fc.boolean(),
      action: fc.constantFrom('retry', 'discard', 'rerun', '__proto__'),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value));
const form = fields(
  ['action', 'reason', 'expected', 'understood', 'effects'],
  fc.oneof(text, fc.constant('yes')),
  5,
).map((given) => new URLSearchParams(given).toString());

/** Most are from an operator and from our own pages, because nobody else gets to most of the ops Worker. */
export const opsRequest: fc.Arbitrary<OpsRequest> = fc.record({
  kind: fc.constant('ops'),
  method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  path: address,
  headers: fc
    .tuple(
      fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain', ''),
      fc.oneof(
        { weight: 6, arbitrary: fc.constant(BEARER) },
        text.map((name) => basic(name)),
        headerValue.map((authorization) => ({ authorization })),
      ),
      fc.oneof(
        fc.constant({ 'sec-fetch-site': 'same-origin' }),
        fields(['cookie', 'origin', 'sec-fetch-site', 'x-ops-actor', 'x-forwarded-for'], headerValue),
      ),
    )
    .map(([type, authorized, others]) => ({ host: 'localhost', 'content-type': type, ...authorized, ...others })),
  body: fc.oneof(action, json, form),
});

export function sentOf({ method, path, headers, body }: OpsRequest): Sent {
  const bytes = Buffer.from(method === 'GET' || method === 'HEAD' ? '' : body);
  return { method, path, headers: { ...headers, 'content-length': bytes.length }, body: bytes };
}
