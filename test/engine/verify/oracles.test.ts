import { describe, expect, it } from 'vitest';
import { sdks } from '../../../workshop/proofs/sdks.ts';
import { check, deliver, withBody } from './deliveries.ts';
import { type Oracle, oracles } from './oracles.ts';

const verified = { outcome: 'verified' };

describe.each(Object.entries(sdks))('the SDK of %s', (name, proof) => {
  const { accepts, signs }: Oracle = oracles[name as keyof typeof sdks];

  it('accepts what npm run send signs', async () => {
    expect(await accepts(deliver(name, { now: new Date() }))).toBe(true);
  });

  it('refuses the same delivery with another body, so the SDK has really checked it', async () => {
    const sent = deliver(name, { now: new Date() });
    expect(await accepts(withBody(sent, sent.text.replace(/.$/, ' }')))).toBe(false);
  });

  it(`${proof.signs ? 'signs deliveries that we accept' : 'cannot sign, and docs/providers.md does not say it can'}`, async () => {
    expect(signs !== undefined).toBe(proof.signs);
    if (!signs) return;
    const sent = deliver(name, { now: new Date(0) });
    const headers = new Headers(sent.headers);
    for (const [header, value] of Object.entries(await signs(sent))) headers.set(header, value);
    expect(await check(name, { ...sent, headers }, undefined, new Date())).toMatchObject(verified);
  });
});
