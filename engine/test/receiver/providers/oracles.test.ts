import { parse, stringify } from 'node:querystring';
import twilio from 'twilio';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { describe, expect, it } from 'vitest';
import { proofs } from '../../../workshop/proofs.ts';
import { check, deliver, type Sent, withBody, withHeaders } from '../../verify/deliveries.ts';
import { oracles } from './oracles.ts';

const verified = { outcome: 'verified' };

const proved = Object.entries(proofs).flatMap(([name, { sdk }]) => (sdk ? [{ name, sdk }] : []));

it('every SDK that a proof names is called', () => {
  expect(Object.keys(oracles).sort()).toEqual(proved.map(({ name }) => name).sort());
});

describe.each(proved)('the SDK of $name', ({ name, sdk }) => {
  const oracle = oracles[name];
  if (!oracle) throw new Error(name);
  const { signs, changed = (text: string) => text.replace(/.$/, ' }') } = oracle;
  const { spoiled = (sent: Sent) => withBody(sent, changed(sent.text)) } = oracle;

  const accepts = async (sent: Sent) => {
    try {
      return (await oracle.accepts(sent)) !== false;
    } catch {
      return false;
    }
  };

  it('accepts what npm run send signs', async () => {
    expect(await accepts(deliver(name, { now: new Date() }))).toBe(true);
  });

  it('refuses the same delivery with another body, so the SDK has really checked it', async () => {
    const sent = deliver(name, { now: new Date() });
    expect(await accepts(spoiled(sent))).toBe(false);
  });

  it(`${sdk.signs ? 'signs deliveries that we accept' : 'cannot sign, and docs/providers.md does not say it can'}`, async () => {
    expect(signs !== undefined).toBe(sdk.signs);
    if (!signs) return;
    const sent = await signs(deliver(name, { now: new Date(0) }));
    expect(await check(name, sent, undefined, new Date())).toMatchObject(verified);
  });
});

it('Shopify’s newer headers are accepted, as its SDK does', async () => {
  const sent = deliver('shopify');
  const headers = new Headers(
    [...sent.headers].map(([name, value]) => [name.replace(/^x-shopify-/, 'shopify-'), value]),
  );
  expect(headers.get('x-shopify-hmac-sha256')).toBeNull();
  const newer = { ...sent, headers };
  for (const [one, accepted] of [
    [newer, true],
    [withBody(newer, `${newer.text} `), false],
  ] as const) {
    expect(await oracles.shopify?.accepts(one)).toBe(accepted);
    expect(await check('shopify', one)).toMatchObject({ outcome: accepted ? 'verified' : 'refused' });
  }
});

/** "Inconsistent on the back end", says Twilio's SDK, and tries them all. */
it.each([
  ['as it was typed', "https://hooks.example.com/w?name=O'Hara&a=b c"],
  ['as a browser normalizes it', new URL("https://hooks.example.com/w?name=O'Hara&a=b c").href],
  ['escaped once more', `https://hooks.example.com/w?${stringify(parse("name=O'Hara&a=b c"))}`],
  ['escaped once more, with its port', `https://hooks.example.com:443/w?${stringify(parse("name=O'Hara&a=b c"))}`],
  ['without TLS, with its port', "http://hooks.example.com:80/w?name=O'Hara&a=b c"],
])('a URL that Twilio signed %s is accepted, as its SDK does', async (_how, signedUrl) => {
  const url = `${new URL(signedUrl).protocol}//hooks.example.com/w?name=O'Hara&a=b c`;
  const sent = deliver('twilio', { url, body: 'Media=b&Media=a&Media=b&Body=caf%C3%A9' });
  const fields = { ...parse(sent.text) };
  const signature = getExpectedTwilioSignature(sent.keys.secret, signedUrl, fields);
  expect(twilio.validateRequest(sent.keys.secret, signature, url, fields)).toBe(true);
  const signed = withHeaders(sent, { 'x-twilio-signature': signature });
  expect(await check('twilio', { ...signed, url })).toMatchObject(verified);
  expect(await check('twilio', { ...signed, url: `${url}&more=1` })).toMatchObject({ outcome: 'refused' });
});
