import { describe, expect, it } from 'vitest';
import { calcom } from '../../src/providers/calcom.ts';
import { vectorsOf } from '../../workshop/proofs.ts';
import { names, providerOf, verdictOn } from './deliveries.ts';

const utf8 = new TextEncoder();

/** Published vectors and, for providers without one, our own: computed with another implementation than ours. */
describe.each(names)('%s', (name) => {
  const vectors = vectorsOf(name);

  it('has a vector', () => {
    expect(vectors).not.toEqual([]);
  });

  // What is changed in a delivery is refused: negatives.test.ts.
  it.each(vectors)('accepts the vector $id at its own time', async (vector) => {
    const { method = 'POST', url = 'https://example.com/', secret = vector.publicKey ?? '', nowSeconds = 0 } = vector;
    const delivery = { method, url, headers: new Headers(vector.headers), body: utf8.encode(vector.body) };
    // If a vector has no time, its scheme signs none, and any time will do.
    const now = new Date(nowSeconds * 1000);
    expect(await verdictOn(providerOf(name), delivery, [secret], now)).toMatchObject({ outcome: 'verified' });
  });
});

it('the text that Cal.com sends instead of a signature if it has no secret is refused', async () => {
  const headers = new Headers({ 'x-cal-signature-256': 'no-secret-provided' });
  const delivery = { method: 'POST', url: 'https://example.com/', headers, body: utf8.encode('{}') };
  const verdict = await verdictOn(calcom, delivery, ['any secret'], new Date());
  expect(verdict).toEqual({ outcome: 'refused', reason: 'signature malformed' });
});
