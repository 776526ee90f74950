import { describe, expect, it } from 'vitest';
import { providers, verify } from '../../src/providers/index.ts';
import { vectors } from './vectors.json';

const known = vectors.flatMap((vector) => {
  const provider = providers[vector.provider];
  return provider && vector.secret ? [{ ...vector, provider, secret: vector.secret }] : [];
});

/** A vector without a time of its own has none in its scheme either. */
const nowOf = (vector: { nowSeconds?: number }) => new Date((vector.nowSeconds ?? 0) * 1000);

function delivery(vector: (typeof known)[number], body: Uint8Array) {
  const { method = 'POST', url = 'https://example.com/' } = vector;
  return { method, url, headers: new Headers(Object.entries(vector.headers)), body };
}

describe.each(known)('the published vector $id', (vector) => {
  const body = new TextEncoder().encode(vector.body);

  it('is verified at its own time', async () => {
    const verdict = await verify(vector.provider, delivery(vector, body), [vector.secret], nowOf(vector));
    expect(verdict).toEqual({ outcome: 'verified' });
  });

  it('is refused with one byte added', async () => {
    const longer = Uint8Array.of(...body, 0x20);
    const verdict = await verify(vector.provider, delivery(vector, longer), [vector.secret], nowOf(vector));
    expect(verdict).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
  });

  it('is refused with another key', async () => {
    const verdict = await verify(vector.provider, delivery(vector, body), [`${vector.secret}BBBB`], nowOf(vector));
    expect(verdict).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
  });
});
