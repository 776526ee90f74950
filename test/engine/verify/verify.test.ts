import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { verify as verifyGithub } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import { sampleOf } from '../../../scripts/samples/samples.ts';
import { sign as signSample } from '../../../scripts/samples/sign.ts';
import { providers } from '../../../src/providers/index.ts';
import type { Signature } from '../../../src/providers/types.ts';
import { verify } from '../../../src/verify/index.ts';
import { type Name, type SignedDelivery, signers } from '../signatures.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
const BODY = '{"id":"evt_1","type":"test","created":1}';
const TEXT_KEY = 'a plain text secret';
const BASE64_KEY = `whsec_${randomBytes(32).toString('base64')}`;
const secretOf = (name: string) => (name === 'standardwebhooks' ? BASE64_KEY : TEXT_KEY);

const names = Object.keys(signers) as Name[];
/** This file is about signatures. Tokens are tested in negatives.test.ts. */
const schemeOf = (name: string): Signature => {
  const scheme = providers[name]?.scheme;
  if (!scheme || scheme.token !== undefined) throw new Error(name);
  return scheme;
};

function check(name: string, signed: SignedDelivery, secrets: string[] = [secretOf(name)], now = NOW) {
  const provider = providers[name];
  if (!provider) throw new Error(name);
  const headers = new Headers(signed.headers);
  return verify(
    provider,
    { method: 'POST', url: 'https://example.com/', headers, body: new TextEncoder().encode(signed.body) },
    secrets,
    now,
  );
}

const verified = { outcome: 'verified' };
const refused = (reason: string) => ({ outcome: 'refused', reason });

// What every provider refuses is in negatives.test.ts.
describe.each(names)('%s', (name) => {
  const signed = (now = NOW) => signers[name](BODY, { secret: secretOf(name), now });

  it('accepts a delivery that the provider’s SDK or node:crypto signed, with whichever secret it was, and refuses another body', async () => {
    const { headers, body } = await signed();
    const secrets = ['', `${BASE64_KEY}BBBB`, secretOf(name)];
    expect(await check(name, { headers, body }, secrets)).toEqual({ outcome: 'verified', secretIndex: 2 });
    const changed = { headers, body: body.replace('evt_1', 'evt_2') };
    expect(await check(name, changed, secrets)).toEqual(refused('signature mismatch'));
  });

  it('refuses a delivery if one of its headers is missing, and says which', async () => {
    const { headers, body } = await signed();
    const { signature, signed: template } = schemeOf(name);
    const needed = Object.keys(headers).filter((header) => `${signature} ${template}`.includes(header));
    expect(needed.length).toBeGreaterThan(0);
    for (const missing of needed) {
      const rest = Object.fromEntries(Object.entries(headers).filter(([header]) => header !== missing));
      const verdict = await check(name, { headers: rest, body });
      expect(verdict).toMatchObject({ outcome: 'refused', missing: expect.stringContaining(`header:${missing}`) });
    }
  });

  if (schemeOf(name).timestamp)
    it('accepts a difference of 300 seconds in both directions, and says by how much it is more', async () => {
      for (const seconds of [300, -300]) expect(await check(name, await signed(ago(seconds)))).toMatchObject(verified);
      // A time in seconds stands for the whole second.
      expect(await check(name, await signed(ago(300)), undefined, ago(-0.999))).toMatchObject(verified);
      for (const secondsOff of [301, -301]) {
        const verdict = await check(name, await signed(ago(secondsOff)));
        expect(verdict).toEqual({ ...refused('timestamp outside the window'), secondsOff });
      }
    });
});

it('a list of signatures is accepted if one of up to ten matches, and refused if it has more, or two times', async () => {
  const { headers, body } = await signers.stripe(BODY, { secret: TEXT_KEY, now: NOW });
  const good = headers['stripe-signature'] ?? '';
  const checked = (header: string) => check('stripe', { headers: { 'stripe-signature': header }, body });
  const bad = `,v1=${'0'.repeat(64)}`;
  expect(await checked(good + bad.repeat(9))).toMatchObject(verified);
  expect(await checked(good + bad.repeat(10))).toEqual(refused('too many signatures'));
  expect(await checked(`t=${NOW.getTime() / 1000 - 1},${good}`)).toMatchObject({ outcome: 'refused' });
});

it('refuses a signature whose own text is read as another entry of the list', async () => {
  const { headers, body } = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  const twice = { ...headers, 'webhook-signature': `v1,${headers['webhook-signature']}` };
  expect(await check('standardwebhooks', { headers: twice, body })).toMatchObject({ outcome: 'refused' });
});

it('refuses a timestamp that only begins with digits', async () => {
  const { headers, body } = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  const text = `${headers['webhook-timestamp']}abc`;
  // Correctly signed with this text.
  const id = headers['webhook-id'] ?? '';
  const key = Buffer.from(BASE64_KEY.slice(6), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${text}.${body}`).digest('base64');
  const verdict = await check('standardwebhooks', {
    headers: { ...headers, 'webhook-timestamp': text, 'webhook-signature': `v1,${signature}` },
    body,
  });
  expect(verdict).toEqual(refused('timestamp malformed'));
});

it('refuses a secret that is not in its provider’s form, and says so', async () => {
  const signed = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  expect(await check('standardwebhooks', signed, ['whsec_not base64!'])).toEqual(refused('secret malformed'));
});

it('accepts a shared secret without its prefix, like the Standard Webhooks SDK', async () => {
  const bare = BASE64_KEY.slice('whsec_'.length);
  const { headers, body } = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  expect(await check('standardwebhooks', { headers, body }, [bare])).toMatchObject(verified);
  expect(await check('standardwebhooks', { headers, body }, [`whpk_${bare}`])).toMatchObject({ outcome: 'refused' });
});

it('refuses a signature by key pair if the public key is configured without its prefix', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64');
  const time = String(NOW.getTime() / 1000);
  const signature = sign(null, Buffer.from(`msg_1.${time}.${BODY}`), privateKey).toString('base64');
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': `v1a,${signature}` };
  const checkWith = (secret: string) => check('standardwebhooks', { headers, body: BODY }, [secret]);
  expect(await checkWith(`whpk_${key}`)).toMatchObject(verified);
  expect(await checkWith(key)).toMatchObject({ outcome: 'refused' });
  // While a source changes from a shared secret to a pair of keys, or back, each scheme has its own secret.
  const shared = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  const both = [BASE64_KEY, `whpk_${key}`];
  const asPair = { headers, body: BODY };
  for (const [sent, secrets, secretIndex] of [
    [shared, both, 0],
    [shared, both.toReversed(), 1],
    [asPair, both, 1],
    [asPair, both.toReversed(), 0],
  ] as const) {
    expect(await check('standardwebhooks', sent, [...secrets])).toEqual({ outcome: 'verified', secretIndex });
  }
  const forged = { ...shared, body: `${BODY} ` };
  expect(await check('standardwebhooks', forged, both)).toEqual(refused('signature mismatch'));
});

it('uses an OpenAI secret without a prefix as text', async () => {
  const time = NOW.getTime() / 1000;
  const signature = createHmac('sha256', TEXT_KEY).update(`msg_1.${time}.${BODY}`).digest('base64');
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': `${time}`, 'webhook-signature': `v1,${signature}` };
  expect(await check('openai', { headers, body: BODY }, [TEXT_KEY])).toMatchObject(verified);
  const ten = `${'v1,AAAA '.repeat(9)}v1,${signature}`;
  expect(
    await check('openai', { headers: { ...headers, 'webhook-signature': ten }, body: BODY }, [TEXT_KEY]),
  ).toMatchObject(verified);
  // Both of its schemes read this place, which is named once.
  const missing = { ...refused('signature missing'), missing: 'header:webhook-signature#v1' };
  expect(await check('openai', { headers: {}, body: BODY }, [TEXT_KEY])).toEqual(missing);
  // Of two schemes, the one whose signature matched says what is wrong with the time.
  const stale = await check('openai', { headers, body: BODY }, [TEXT_KEY], ago(-301));
  expect(stale).toEqual({ ...refused('timestamp outside the window'), secondsOff: 301 });
});

describe('a delivery that npm run send signs', () => {
  const sent = (name: string) => {
    const provider = providers[name];
    if (!provider) throw new Error(name);
    const { types, id } = sampleOf(provider);
    return signSample(provider, secretOf(name), { id: id(), type: types[0], now: new Date() });
  };

  it('is accepted by Stripe’s own SDK', async () => {
    const { headers, body } = sent('stripe');
    const event = await Stripe.webhooks.constructEventAsync(body, headers['stripe-signature'] ?? '', TEXT_KEY);
    expect(event.type).toBe('invoice.paid');
  });

  it('is accepted by GitHub’s own SDK', async () => {
    const { headers, body } = sent('github');
    expect(await verifyGithub(TEXT_KEY, body, headers['x-hub-signature-256'] ?? '')).toBe(true);
  });

  it('is accepted by the Standard Webhooks SDK', () => {
    const { headers, body } = sent('standardwebhooks');
    expect(new Webhook(BASE64_KEY).verify(body, headers)).toMatchObject({ type: 'invoice.created' });
  });

  it.each(names)('is accepted by our verifier: %s', async (name) => {
    expect(await check(name, sent(name), undefined, new Date())).toMatchObject(verified);
  });
});
