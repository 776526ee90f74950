import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { expect, it } from 'vitest';
import { signedHeaders } from '../../src/verify/index.ts';
import { type SignedDelivery, signers } from '../signatures.ts';
import { deliver, providerOf, verdictOn } from './deliveries.ts';

// What every provider accepts and refuses is in negatives.test.ts.

const NOW = new Date('2026-03-01T12:00:00Z');
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
const BODY = '{"id":"evt_1","type":"test","created":1}';
const TEXT_KEY = 'a plain text secret';
const BASE64_KEY = `whsec_${randomBytes(32).toString('base64')}`;
const secretOf = (name: string) => (name === 'standardwebhooks' ? BASE64_KEY : TEXT_KEY);

function check(name: string, signed: SignedDelivery, secrets: string[] = [secretOf(name)], now = NOW) {
  const headers = new Headers(signed.headers);
  return verdictOn(
    providerOf(name),
    { method: 'POST', url: 'https://example.com/', headers, body: new TextEncoder().encode(signed.body) },
    secrets,
    now,
  );
}

const verified = { outcome: 'verified' };
const refused = (reason: string) => ({ outcome: 'refused', reason });

it('a list of signatures is accepted if one of up to ten matches, and refused if it has more than ten or two times', async () => {
  const { headers, body } = await signers.stripe(BODY, { secret: TEXT_KEY, now: NOW });
  const good = headers['stripe-signature'] ?? '';
  const checked = (header: string) => check('stripe', { headers: { 'stripe-signature': header }, body });
  const bad = `,v1=${'0'.repeat(64)}`;
  expect(await checked(good + bad.repeat(9))).toMatchObject(verified);
  expect(await checked(good + bad.repeat(10))).toEqual(refused('too many signatures'));
  expect(await checked(`t=${NOW.getTime() / 1000 - 1},${good}`)).toMatchObject({ outcome: 'refused' });
  // An entry whose name only ends like it is another one.
  expect(await checked(`xt=1,${good}`)).toMatchObject(verified);
  // Those of two schemes count together.
  const [six, five] = ['v1,AAAA '.repeat(6), 'v1a,AAAA '.repeat(5)];
  const ofBoth = { headers: { 'webhook-signature': six + five }, body: BODY };
  expect(await check('standardwebhooks', ofBoth)).toEqual(refused('too many signatures'));
});

it('refuses a signature whose own text looks like another entry of the list', async () => {
  const { headers, body } = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  const twice = { ...headers, 'webhook-signature': `v1,${headers['webhook-signature']}` };
  expect(await check('standardwebhooks', { headers: twice, body })).toMatchObject({ outcome: 'refused' });
});

it.each([(time: string) => `${time}abc`, (time: string) => `+${time}`])(
  'refuses a timestamp that is more than digits: %s',
  async (change) => {
    const { headers, body } = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
    const text = change(headers['webhook-timestamp'] ?? '');
    // Correctly signed with this text.
    const id = headers['webhook-id'] ?? '';
    const key = Buffer.from(BASE64_KEY.slice(6), 'base64');
    const signature = createHmac('sha256', key).update(`${id}.${text}.${body}`).digest('base64');
    const verdict = await check('standardwebhooks', {
      headers: { ...headers, 'webhook-timestamp': text, 'webhook-signature': `v1,${signature}` },
      body,
    });
    expect(verdict).toEqual(refused('timestamp malformed'));
  },
);

it('refuses a key pair’s signature if the public key is configured without its prefix', async () => {
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
  for (const sent of [shared, asPair]) {
    const forged = { ...sent, body: `${BODY} ` };
    expect(await check('standardwebhooks', forged, both)).toEqual(refused('signature mismatch'));
  }
});

it('says at which place the signature or a signed value is missing', async () => {
  const { headers, body } = await signers.standardwebhooks(BODY, { secret: BASE64_KEY, now: NOW });
  const missing = async (...names: string[]) => {
    const rest = Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
    return (await check('standardwebhooks', { headers: rest, body })) as { missing?: string };
  };
  const ofBoth = 'header:webhook-id, header:webhook-timestamp';
  const signature = 'header:webhook-signature#v1 or header:webhook-signature#v1a';
  expect(await missing('webhook-id')).toEqual({ ...refused('signed header missing'), missing: 'header:webhook-id' });
  expect((await missing('webhook-id', 'webhook-timestamp')).missing).toBe(ofBoth);
  expect(await missing('webhook-signature')).toEqual({ ...refused('signature missing'), missing: signature });
});

it('refuses a delivery from Contentful whose signature doesn’t cover the time or the list of headers', async () => {
  const delivery = (...names: string[]) => {
    const all = { 'x-contentful-signed-headers': names.join(), 'x-contentful-timestamp': String(NOW.getTime()) };
    const lines = Object.entries(all).flatMap(([name, value]) => (names.includes(name) ? `${name}:${value}` : []));
    const text = `POST\n/\n${lines.join(';')}\n${BODY}`;
    const signature = createHmac('sha256', TEXT_KEY).update(text).digest('hex');
    return check('contentful', { headers: { ...all, 'x-contentful-signature': signature }, body: BODY });
  };
  const [list, time] = ['x-contentful-signed-headers', 'x-contentful-timestamp'];
  // The list may have any order, and what is signed is sorted.
  expect(await delivery(time, list)).toMatchObject(verified);
  for (const left of [list, time]) expect(await delivery(left)).toMatchObject(refused('signed header missing'));
});

it('accepts a signature in each of DocuSign’s first five headers, but not in the sixth', async () => {
  const { headers, text, keys } = deliver('docusign');
  const signature = headers.get('x-docusign-signature-1') ?? '';
  const secondOf = async (n: number) => {
    const all = { 'x-docusign-signature-1': 'AAAA', [`x-docusign-signature-${n}`]: signature };
    return (await check('docusign', { headers: all, body: text }, [keys.secret])).outcome;
  };
  const outcomes = await Promise.all([1, 2, 3, 4, 5, 6].map(secondOf));
  expect(outcomes).toEqual([...Array(5).fill('verified'), 'refused']);
});

it.each([
  ['contentful', { 'x-contentful-signed-headers': 'X-One, x-two' }],
  ['coinbase-cdp', { 'x-hook0-signature': 't=1,h=X-One x-two,v1=00' }],
])('reads which headers %s signs, in any spelling', (name, headers) => {
  const delivery = {
    method: 'POST',
    url: 'https://example.com/',
    headers: new Headers(headers),
    body: new Uint8Array(),
  };
  expect(signedHeaders(providerOf(name), delivery)).toEqual(['x-one', 'x-two']);
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
