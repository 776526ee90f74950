import { describe, expect, it } from 'vitest';
import { check, deliver, withBody } from './deliveries.ts';
import { oracles } from './oracles.ts';

const verified = { outcome: 'verified' };

describe.each(Object.entries(oracles))('%s', (name, { sdk, accepts, signs }) => {
  it(`what npm run send signs is accepted by ${sdk}`, async () => {
    expect(await accepts(deliver(name, { now: new Date() }))).toBe(true);
  });

  it(`and not with another body, so that ${sdk} has looked`, async () => {
    const sent = deliver(name, { now: new Date() });
    expect(await accepts(withBody(sent, sent.text.replace(/.$/, ' }')))).toBe(false);
  });

  if (signs) {
    it(`what ${sdk} signs is accepted by us`, async () => {
      const sent = deliver(name, { now: new Date(0) });
      const headers = new Headers(sent.headers);
      for (const [header, value] of Object.entries(await signs(sent))) headers.set(header, value);
      expect(await check(name, { ...sent, headers }, undefined, new Date())).toEqual(verified);
    });
  }
});
