import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { madeUpKeys } from '../../../cli/samples/sign.ts';
import { secretName, unseal } from '../../../src/receiver/secrets.ts';
import { names, providerOf, type Sent } from '../../verify/deliveries.ts';
import { useProviders } from './running.ts';

const { env, start, sample } = useProviders({
  NOTION_SHORT_WEBHOOK_SECRET: 'only thirty-one characters long',
  NOTION_NEW_WEBHOOK_SECRET: 'the thirty-two characters needed',
  ZOOM_WEBHOOK_SECRET_PREVIOUS: 'the one before',
});
const secretOf = (source: string) => env[secretName(source)] ?? '';

let receiver: ReturnType<typeof start>;
beforeEach(() => {
  receiver = start();
});

/** No handshake is an event. */
afterEach(() => expect(receiver.forwarded).toEqual([]));

const send = async (source: string, sent: Sent) => receiver.deliver(source, sent);
const get = async (source: string, query: string) => receiver.send(`${source}?${query}`, { method: 'GET' });
const post = async (source: string, headers: Record<string, string>, body: string) =>
  receiver.send(source, { headers, body });

async function answerOf(response: Response) {
  const { status, headers } = response;
  return {
    status,
    type: headers.get('content-type'),
    nosniff: headers.get('x-content-type-options'),
    body: await response.text(),
  };
}

const text = (body: string) => ({ status: 200, type: 'text/plain', nosniff: 'nosniff', body });
const signedJson = (name: string, json: object) => send(name, sample(name, { body: JSON.stringify(json) }));
const withWrongKey = (name: string, body: string) => sample(name, { body, keys: madeUpKeys(providerOf(name)) });

const CHALLENGE = '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd';
const PLAIN_TOKEN = 'qgg8vlvZRS6UYooatFL8Aw';
const SIGNED_HANDSHAKES = {
  slack: JSON.stringify({ token: 'legacy', challenge: CHALLENGE, type: 'url_verification' }),
  zoom: JSON.stringify({ event: 'endpoint.url_validation', event_ts: 1, payload: { plainToken: PLAIN_TOKEN } }),
  discord: JSON.stringify({ version: 1, application_id: '1', type: 0 }),
  xero: JSON.stringify({ events: [], firstEventSequence: 0, lastEventSequence: 0, entropy: 'S0m3r4Nd0mt3xt' }),
};

it('Slack’s url_verification is answered with its challenge, as text', async () => {
  const sent = sample('slack', { body: SIGNED_HANDSHAKES.slack });
  expect(await answerOf(await send('slack', sent))).toEqual(text(CHALLENGE));
});

describe('Zoom’s endpoint.url_validation', () => {
  const plainToken = PLAIN_TOKEN;
  const body = SIGNED_HANDSHAKES.zoom;

  it('is answered with its token, plain and signed with the secret', async () => {
    const encryptedToken = createHmac('sha256', secretOf('zoom')).update(plainToken).digest('hex');
    expect(await answerOf(await send('zoom', sample('zoom', { body })))).toEqual({
      ...text(JSON.stringify({ plainToken, encryptedToken })),
      type: 'application/json',
    });
  });

  it('is answered with the secret it was signed with, while that is rotated', async () => {
    const previous = 'the one before';
    const sent = sample('zoom', { body, keys: { secret: previous, signingKey: previous } });
    const encryptedToken = createHmac('sha256', previous).update(plainToken).digest('hex');
    expect(await (await send('zoom', sent)).json()).toEqual({ plainToken, encryptedToken });
    expect(receiver.lines).toMatchObject([{ outcome: 'handshake', signed_with: 'previous' }]);
  });
});

const query = (token: string, challenge = '1158201444') =>
  `hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=${encodeURIComponent(challenge)}`;
const token = () => env.META_VERIFY_TOKEN ?? '';

describe('Meta’s challenge', () => {
  it('is answered if the verify token is right', async () => {
    expect(await answerOf(await get('meta', query(token())))).toEqual(text('1158201444'));
    // Whatever they carry, a GET is not a delivery, and a POST is not this handshake.
    const init = { method: 'GET', headers: { 'x-hub-signature-256': 'sha256=00' } };
    expect((await receiver.send(`meta?${query(token())}`, init)).status).toBe(200);
    expect((await receiver.send(`meta?${query(token())}`)).status).toBe(401);
  });

  it('is refused with any other token, twice the token, another mode, or nothing', async () => {
    const queries = [
      query(''),
      query('wrong'),
      query(secretOf('meta')),
      `${query(token())}&hub.verify_token=${token()}`,
      query(token()).replace('subscribe', 'unsubscribe'),
      '',
    ];
    for (const wrong of queries) expect((await get('meta', wrong)).status, wrong).toBe(401);
    expect(new Set(receiver.lines.map(({ reason }) => reason))).toEqual(new Set(['no such handshake']));
  });
});

it('Dropbox’s challenge is echoed as plain text that no browser takes for a page', async () => {
  expect(await answerOf(await get('dropbox', 'challenge=Dx-2_a.b~C'))).toEqual(text('Dx-2_a.b~C'));
});

it.each<[name: string, ask: (text: string) => Promise<Response>]>([
  ['slack', (challenge) => signedJson('slack', { type: 'url_verification', challenge })],
  ['zoom', (plainToken) => signedJson('zoom', { event: 'endpoint.url_validation', payload: { plainToken } })],
  ['meta', (challenge) => get('meta', query(token(), challenge))],
  ['dropbox', (challenge) => get('dropbox', `challenge=${encodeURIComponent(challenge)}`)],
])('%s has a token of up to 256 characters echoed or signed, and no other text', async (_name, ask) => {
  expect(await (await ask('x'.repeat(256))).text()).toContain('x'.repeat(256));
  for (const other of ['<script>alert(1)</script>', 'a b', 'x'.repeat(257), '', 'a\r\nset-cookie: b=c']) {
    expect(await (await ask(other)).text()).not.toMatch(/script|a b|x{200}|set-cookie|encryptedToken/);
  }
  expect(receiver.lines.filter(({ outcome }) => outcome === 'handshake')).toHaveLength(1);
  // Signed JSON that is no handshake is an event.
  receiver.forwarded.length = 0;
});

it('Discord’s PING is answered 204, empty', async () => {
  const answer = await send('discord', sample('discord', { body: SIGNED_HANDSHAKES.discord }));
  expect([answer.status, await answer.text()]).toEqual([204, '']);
});

it('Xero’s intent to receive is an empty 200', async () => {
  const answer = await send('xero', sample('xero', { body: SIGNED_HANDSHAKES.xero }));
  expect([answer.status, await answer.text(), answer.headers.get('set-cookie')]).toEqual([200, '', null]);
});

// Nobody may have a text of their choice echoed or signed.
it.each(Object.entries(SIGNED_HANDSHAKES))(
  'a handshake of %s is refused unsigned, and signed with another secret',
  async (name, body) => {
    expect((await send(name, withWrongKey(name, body))).status).toBe(401);
    expect((await post(name, { 'content-type': 'application/json' }, body)).status).toBe(401);
  },
);

describe('WooCommerce’s ping', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  it('is answered 200 though it is not signed', async () => {
    expect((await post('woocommerce', form, 'webhook_id=42')).status).toBe(200);
  });

  it('is no way around the signature', async () => {
    const wrong = sample('woocommerce', { keys: madeUpKeys(providerOf('woocommerce')) });
    const parse = vi.spyOn(JSON, 'parse');
    expect((await post('woocommerce', form, 'webhook_id=42<b>')).status).toBe(401);
    expect((await post('woocommerce', { 'content-type': 'application/json' }, 'webhook_id=42')).status).toBe(401);
    expect((await post('woocommerce', { ...Object.fromEntries(wrong.headers), ...form }, 'webhook_id=42')).status).toBe(
      401,
    );
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });
});

const HAND_OVERS = [
  { name: 'notion', headers: {}, body: (secret: string) => JSON.stringify({ verification_token: secret }) },
  { name: 'asana', headers: { 'x-hook-secret': '{secret}' }, body: () => '' },
];

describe.each(HAND_OVERS)('a secret that $name hands over', ({ name, headers, body }) => {
  const handOver = (source: string, secret: string) => {
    const filled = Object.entries(headers).map(([key, value]) => [key, value.replace('{secret}', secret)]);
    return post(source, Object.fromEntries(filled), body(secret));
  };
  const SECRET = `secret_${name}_0123456789abcdef`;

  it('is refused while the source awaits none', async () => {
    expect((await handOver(name, SECRET)).status).toBe(401);
  });

  it('is answered while it awaits one, and shown sealed: in the log only its owner can read it', async () => {
    const answer = await handOver(`${name}-new`, SECRET);
    expect([answer.status, answer.headers.get('x-hook-secret')]).toEqual([200, name === 'asana' ? SECRET : null]);
    expect(JSON.stringify(receiver.lines)).not.toContain(SECRET);
    expect(receiver.lines).toMatchObject([{ source: `${name}-new`, outcome: 'handshake' }]);
    const sealed = String(receiver.lines[0]?.sealed);
    expect(await unseal(sealed, secretOf(`${name}-new`))).toBe(SECRET);
  });

  it('is refused if it is too short, too long or contains markup', async () => {
    for (const wrong of ['short', `<script>${SECRET}`, 'x'.repeat(257)]) {
      expect((await handOver(`${name}-new`, wrong)).status).toBe(401);
    }
  });

  it('is no way around the signature of a delivery', async () => {
    const sent = sample(name, { source: `${name}-new`, keys: madeUpKeys(providerOf(name)) });
    const answer = await post(
      `${name}-new`,
      { ...Object.fromEntries(sent.headers), 'x-hook-secret': SECRET },
      sent.text,
    );
    expect(answer.status).toBe(401);
  });
});

it('a signed delivery is an event, also if it looks like a secret that is handed over', async () => {
  const body = JSON.stringify({ id: 'evt_1', type: 'page.created', verification_token: 'secret_0123456789abcdef' });
  expect((await send('notion-new', sample('notion', { source: 'notion-new', body }))).status).toBe(200);
  expect((await receiver.events()).map(({ eventId }) => eventId)).toEqual(['evt_1']);
  receiver.forwarded.length = 0;
});

it('a secret that would be sealed with a guessable one is not taken', async () => {
  const answer = await post('notion-short', {}, JSON.stringify({ verification_token: 'secret_0123456789abcdef' }));
  expect(answer.status).toBe(401);
  expect(receiver.lines).toMatchObject([{ outcome: 'refused', reason: 'secret malformed' }]);
  expect(receiver.lines[0]?.sealed).toBeUndefined();
});

it.each(names)('a GET to %s is answered 405 unless the provider has a handshake with GET', async (name) => {
  const asks = providerOf(name).handshakes?.some(({ method }) => method === 'GET');
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
    const { status, headers } = await receiver.send(name, { method });
    const expected = asks && method === 'GET' ? [401, null] : [405, asks ? 'GET, POST' : 'POST'];
    expect([status, headers.get('allow')], method).toEqual(expected);
  }
  expect(receiver.lines).toHaveLength(asks ? 1 : 0);
});
