import { expect, it } from 'vitest';
import { calcom } from '../../src/providers/calcom.ts';
import { providers } from '../../src/providers/index.ts';
import type { Provider } from '../../src/providers/types.ts';
import { verify } from '../../src/verify/index.ts';
import more from '../../workshop/proofs/more-vectors.json';
import { vectors as published } from '../../workshop/proofs/vectors.json';

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

const utf8 = new TextEncoder();

it('every vector is used, and every provider has one', () => {
  expect(new Set(providerVectors.map(({ vector }) => vector.id)).size).toBe(vectors.length);
  expect(vectors.filter((vector) => !providers[vector.provider])).toEqual([]);
  expect(
    Object.keys(providers).filter((name) => !providerVectors.some(({ provider }) => provider.name === name)),
  ).toEqual([]);
});

// What is changed in a delivery is refused: negatives.test.ts.
it.each(providerVectors)('the vector $id is accepted at its own time', async ({ provider, key, headers, vector }) => {
  const { method = 'POST', url = 'https://example.com/', nowSeconds = 0 } = vector;
  const delivery = { method, url, headers: new Headers(headers), body: utf8.encode(vector.body) };
  // If a vector has no time, its scheme signs none, and any time will do.
  const now = new Date(nowSeconds * 1000);
  expect(await verify(provider, delivery, [key], now)).toMatchObject({ outcome: 'verified' });
});

it('what Cal.com sends in place of a signature while it has no secret is refused', async () => {
  const headers = new Headers({ 'x-cal-signature-256': 'no-secret-provided' });
  const delivery = { method: 'POST', url: 'https://example.com/', headers, body: utf8.encode('{}') };
  const verdict = await verify(calcom, delivery, ['any secret'], new Date());
  expect(verdict).toEqual({ outcome: 'refused', reason: 'signature malformed' });
});
