import { describe, expect, it } from 'vitest';
import { providers } from '../../../src/providers/index.ts';
import type { Provider } from '../../../src/providers/types.ts';
import { verify } from '../../../src/verify/index.ts';
import more from '../../../workshop/proofs/more-vectors.json';
import { boundaries, negatives, vectors as published } from '../../../workshop/proofs/vectors.json';

interface Vector {
  readonly id: string;
  readonly provider: string;
  readonly alsoFor?: readonly string[] | undefined;
  readonly origin: string;
  readonly secret?: string | undefined;
  readonly publicKey?: string | undefined;
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: object;
  readonly body: string;
  readonly nowSeconds?: number | undefined;
}

/** Published vectors and, for providers without one, our own: computed with another implementation than ours. */
const vectors: readonly Vector[] = [...published, ...more];

interface ProviderVector {
  readonly id: string;
  readonly provider: Provider;
  readonly key: string;
  readonly headers: [string, string][];
  readonly vector: Vector;
}

/** Each vector is used for every provider with the same scheme: Svix's also for Standard Webhooks, and the reverse. */
const providerVectors = vectors.flatMap((vector): ProviderVector[] => {
  const key = vector.secret ?? vector.publicKey ?? '';
  const one = (name: string, headers: object): ProviderVector[] => {
    const provider = providers[name];
    return provider
      ? [{ id: `${vector.id} for ${name}`, provider, key, headers: Object.entries(headers), vector }]
      : [];
  };
  const others = (vector.alsoFor ?? []).flatMap((name) => one(name, renamed(vector.headers, name)));
  return [...one(vector.provider, vector.headers), ...others];
});

/** Svix, Clerk and Resend send the same values under other header names. */
function renamed(headers: object, name: string): Record<string, string> {
  const prefix = ['svix', 'clerk', 'resend'].includes(name) ? 'svix-' : 'webhook-';
  return Object.fromEntries(
    Object.entries(headers).map(([header, value]) => [header.replace(/^(svix|webhook)-/, prefix), value]),
  );
}

const verified = { outcome: 'verified' };
const refused = { outcome: 'refused' };
const utf8 = new TextEncoder();

interface Changed {
  body?: Uint8Array | string;
  key?: string;
  headers?: Record<string, string>;
  url?: string;
  offset?: number;
}

function check({ provider, key, headers, vector }: ProviderVector, changed: Changed = {}) {
  const { body = vector.body } = changed;
  const delivery = {
    method: vector.method ?? 'POST',
    url: changed.url ?? vector.url ?? 'https://example.com/',
    headers: new Headers(headers),
    body: typeof body === 'string' ? utf8.encode(body) : body,
  };
  for (const [name, value] of Object.entries(changed.headers ?? {})) delivery.headers.set(name, value);
  // If a vector has no time, its scheme signs none, and any time will do.
  const now = new Date(((vector.nowSeconds ?? 0) + (changed.offset ?? 0)) * 1000);
  return verify(provider, delivery, [changed.key ?? key], now);
}

it('every vector is used, and every provider has one', () => {
  expect(new Set(providerVectors.map(({ vector }) => vector.id)).size).toBe(vectors.length);
  expect(vectors.filter((vector) => !providers[vector.provider])).toEqual([]);
  expect(
    Object.keys(providers).filter((name) => !providerVectors.some(({ provider }) => provider.name === name)),
  ).toEqual([]);
});

describe.each(providerVectors)('the vector $id', (one) => {
  const { vector, key } = one;

  it('is accepted at its own time', async () => {
    expect(await check(one)).toMatchObject(verified);
  });

  // A token covers nothing.
  if (!vector.id.endsWith('/token')) {
    it('is refused with a changed signed text', async () => {
      expect(await check(one, { body: changed(vector) })).toMatchObject(refused);
    });
  }

  it('is refused with another key', async () => {
    const other = key.startsWith('MFkw') ? key.replace('83T4O', '83T4P') : `${key}BBBB`;
    expect(await check(one, { key: other })).toMatchObject(refused);
  });
});

/** A change in the signed text: Adyen signs some fields of each item and Mailgun its token, not the whole body. */
function changed({ provider, body }: Vector): string {
  if (provider === 'adyen') return body.replace('1000', '9000');
  return provider === 'mailgun' ? body.replace(/("token":").../, '$1xyz') : `${body} `;
}

/** The windows of the providers' SDKs. Ours are the same or wider, and apply in both directions. */
const OFFICIAL_SECONDS: Record<string, number> = {
  standardwebhooks: 300,
  openai: 300,
  stripe: 300,
  slack: 300,
  paddle: 5,
  linear: 60,
  'hubspot-v3': 300,
  workos: 180,
  contentful: 30,
};

describe.each(boundaries)('the window of $provider', ({ provider: name, rule }) => {
  const scheme = providers[name]?.scheme;
  const window = scheme && scheme.token === undefined ? scheme.timestamp?.windowSeconds : undefined;

  it(`is no narrower than its SDK’s (${rule})`, () => {
    expect(window).toBeGreaterThanOrEqual(OFFICIAL_SECONDS[name] ?? Number.POSITIVE_INFINITY);
  });
});

/** The published negatives, as changes of a vector. */
const cases: Record<string, [vector: string, changes: Changed[]]> = {
  'notion/missing-prefix': [
    'notion/page-created',
    [
      '453a12cb3fb8f2f17ac1fbbc71d79a6dace93a7260f0643140cdff354a514b25',
      'sha256=453a12cb3fb8f2f17ac1fbbc71d79a6dace93a7260f0643140cdff354a514bzz',
      'sha256=453a12cb3fb8f2f17ac1fbbc71d79a6dace93a7260f0643140cdff354a514b',
      'sha256=',
    ].map((signature) => ({ headers: { 'x-notion-signature': signature } })),
  ],
  'square/url-mismatch': [
    'square/real-notification',
    [{ url: 'https://webhook.site/79a4f3a-dcfa-49ee-bac5-9d0edad886b9' }],
  ],
  'sendgrid/bad': [
    'sendgrid/single-event',
    [
      { body: 'payload' },
      { headers: { 'x-twilio-email-event-webhook-timestamp': 'timestamp' } },
      {
        // Another point of the curve, and then a key that is cut off.
        key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==',
      },
      { key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE' },
    ],
  ],
  'pagerduty/mismatch': [
    'pagerduty/go-sdk-test',
    [{ headers: { 'x-pagerduty-signature': 'v1=7020c8a7ec668a9b7012bc3dd82e483394b038f4230acc6785efbf2a7d8bcaf5' } }],
  ],
  'paddle/extra-space': ['paddle/valid', [{ body: '{"data": [ "1", "2" ]}' }, { body: '{ "data": ["1", "2"]}' }]],
};

describe('the published negatives', () => {
  it.each(Object.entries(cases))('%s', async (_id, [vector, changes]) => {
    const one = providerVectors.find(({ vector: { id } }) => id === vector);
    if (!one) throw new Error(vector);
    for (const change of changes) expect(await check(one, change)).toMatchObject(refused);
  });

  const alone = async (name: string, headers: Record<string, string>, body: string) => {
    const provider = providers[name];
    if (!provider) throw new Error(name);
    const delivery = {
      method: 'POST',
      url: 'https://example.com/',
      headers: new Headers(headers),
      body: utf8.encode(body),
    };
    return verify(provider, delivery, ['any secret'], new Date());
  };

  it('calcom/no-secret', async () => {
    const headers = { 'x-cal-signature-256': 'no-secret-provided' };
    expect(await alone('calcom', headers, '{}')).toEqual({ outcome: 'refused', reason: 'signature malformed' });
  });

  it('are all used', () => {
    const done = [...Object.keys(cases), 'calcom/no-secret'];
    expect(done.sort()).toEqual(negatives.map(({ id }) => id).sort());
  });
});
