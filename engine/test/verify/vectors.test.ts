import { expect, it } from 'vitest';
import { calcom } from '../../src/providers/calcom.ts';
import type { Vector } from '../../src/providers/proof.ts';
import type { Provider } from '../../src/providers/types.ts';
import { verify } from '../../src/verify/index.ts';
import { proofs } from '../../workshop/proofs.ts';
import { names, providerOf } from './deliveries.ts';

interface ProviderVector {
  readonly id: string;
  readonly provider: Provider;
  readonly key: string;
  readonly headers: [string, string][];
  readonly vector: Vector;
}

/** Each vector is used for every provider with the same scheme: Svix's also for Standard Webhooks, and the reverse. */
const providerVectors = Object.entries(proofs).flatMap(([name, { vectors = [] }]) =>
  vectors.flatMap((vector) => [
    ofProvider(name, vector, vector.headers),
    ...(vector.alsoFor ?? []).map((other) => ofProvider(other, vector, renamed(vector.headers, other))),
  ]),
);

function ofProvider(name: string, vector: Vector, headers: object): ProviderVector {
  const key = vector.secret ?? vector.publicKey ?? '';
  return { id: `${vector.id} for ${name}`, provider: providerOf(name), key, headers: Object.entries(headers), vector };
}

/** Svix, Clerk and Resend send the same values under other header names. */
function renamed(headers: object, name: string): Record<string, string> {
  const prefix = ['svix', 'clerk', 'resend'].includes(name) ? 'svix-' : 'webhook-';
  return Object.fromEntries(
    Object.entries(headers).map(([header, value]) => [header.replace(/^(svix|webhook)-/, prefix), value]),
  );
}

const utf8 = new TextEncoder();

it.each(names)('%s has a vector', (name) => {
  expect(providerVectors.filter(({ provider }) => provider.name === name)).not.toEqual([]);
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
