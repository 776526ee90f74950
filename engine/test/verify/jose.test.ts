import { createHash, createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { googlePubsub } from '../../src/providers/google-pubsub.ts';
import type { Provider } from '../../src/providers/index.ts';
import { kinde } from '../../src/providers/kinde.ts';
import { netlify } from '../../src/providers/netlify.ts';
import { plaid } from '../../src/providers/plaid.ts';
import { startReceiver } from '../receiver/in-node.ts';
import { verdictOn } from './deliveries.ts';

const AUDIENCE = 'https://hooks.example.com/webhooks/pubsub';
const EMAIL = 'push@ours.iam.gserviceaccount.com';
const SETTINGS = `${AUDIENCE} ${EMAIL}`;
const BODY = '{"subscription":"projects/p/subscriptions/s","message":{"messageId":"1"}}';

const google = generateKeyPairSync('rsa', { modulusLength: 2048 });
const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Nothing that one test has fetched is young enough for the next. */
let now = new Date('2026-03-01T12:00:00Z');
const seconds = () => Math.floor(now.getTime() / 1000);
const later = (ms: number) => {
  now = new Date(now.getTime() + ms);
};
beforeEach(() => later(10 * 86_400_000));
afterEach(() => vi.restoreAllMocks());

const jwk = (key: KeyObject, kid: string, more: object = {}) => ({ ...key.export({ format: 'jwk' }), kid, ...more });
const keySet = (...keys: object[]) => ({ keys });
const published = keySet(jwk(google.publicKey, 'one', { alg: 'RS256', use: 'sig' }));

/** What the keys' host answers. */
function answerWith(answer: (url: string, init?: RequestInit) => unknown) {
  return vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const given = await answer(String(url), init);
    return given instanceof Response ? given : Response.json(given);
  });
}

const claims = (changed: object = {}) => ({
  iss: 'https://accounts.google.com',
  aud: AUDIENCE,
  email: EMAIL,
  email_verified: true,
  iat: seconds(),
  exp: seconds() + 3600,
  ...changed,
});

/** Made by another library. `undefined` leaves a claim out. */
function tokenOf(changed: object = {}, { key = google.privateKey, keyid = 'one', header = {} } = {}): string {
  const payload = JSON.parse(JSON.stringify(claims(changed)));
  return jsonwebtoken.sign(payload, key, { algorithm: 'RS256', keyid, header: { alg: 'RS256', ...header } });
}

const deliveryWith = (headers: Record<string, string>, body = BODY) => ({
  method: 'POST',
  url: AUDIENCE,
  headers: new Headers(headers),
  body: new TextEncoder().encode(body),
});

const check = (token: string, secret = SETTINGS) =>
  verdictOn(googlePubsub, deliveryWith({ authorization: `Bearer ${token}` }), [secret], now);

const verified = { outcome: 'verified', secretIndex: 0 };

/** Signed by hand, because no library signs like this. */
function forged(header: object, sign: (text: string) => Buffer, payload: object = claims()): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${sign(text).toString('base64url')}`;
}

describe('a token from Google, which signs for everybody', () => {
  beforeEach(() => {
    answerWith(() => published);
  });

  it('is accepted if it is for us and from our account', async () => {
    expect(await check(tokenOf())).toEqual(verified);
  });

  it.each([
    ['for another audience', { aud: 'https://attacker.example.com' }, 'jws:aud'],
    ['for several audiences', { aud: [AUDIENCE, 'https://attacker.example.com'] }, 'jws:aud'],
    [
      'of the attacker’s own account, for our audience',
      { email: 'push@attacker.iam.gserviceaccount.com' },
      'jws:email',
    ],
    ['with an address that was not confirmed', { email_verified: false }, 'jws:email_verified'],
    ['without an account', { email: undefined }, 'jws:email'],
    ['of another issuer', { iss: 'https://securetoken.google.com/attacker' }, 'jws:iss'],
    ['that never expires', { exp: undefined }, 'jws:exp'],
  ])('is refused %s, without a request for a key', async (_what, changed, claim) => {
    expect(await check(tokenOf(changed))).toEqual({ outcome: 'refused', reason: 'wrong claim', claim });
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each([
    ['that has expired', { iat: -3660, exp: -61 }, 61],
    ['that is too old, although it says that it is valid', { iat: -3661, exp: 9999 }, 3661],
    ['that was made in the future', { iat: 3661, exp: 9999 }, -3661],
    ['that is not valid yet', { nbf: 61 }, -61],
  ])('is refused %s, and the log says by how much', async (_what, off, secondsOff) => {
    const times = Object.fromEntries(Object.entries(off).map(([name, by]) => [name, seconds() + by]));
    const verdict = await check(tokenOf(times));
    expect(verdict).toEqual({ outcome: 'refused', reason: 'timestamp outside the window', secondsOff });
  });

  it('is refused if somebody else has signed it under a known key’s name', async () => {
    const mismatch = { outcome: 'refused', reason: 'signature mismatch' };
    expect(await check(tokenOf({}, { key: attacker.privateKey }))).toEqual(mismatch);
    expect(await check(`${tokenOf().split('.').slice(0, 2).join('.')}.${tokenOf({ sub: 'x' }).split('.')[2]}`)).toEqual(
      mismatch,
    );
  });

  it('is refused with its own key or key address, without a request to that address', async () => {
    const header = {
      jwk: jwk(attacker.publicKey, 'one'),
      jku: 'https://attacker.example.com/keys',
      x5u: 'https://attacker.example.com/certificate',
    };
    expect(await check(tokenOf({}, { key: attacker.privateKey, header }))).toMatchObject({ outcome: 'refused' });
    for (const [url] of vi.mocked(fetch).mock.calls)
      expect(String(url)).toBe('https://www.googleapis.com/oauth2/v3/certs');
  });

  it('is refused without a signature, or with one made from the public key', async () => {
    const pem = google.publicKey.export({ type: 'spki', format: 'pem' });
    const der = google.publicKey.export({ type: 'spki', format: 'der' });
    const hmac = (key: string | Buffer) => (text: string) => createHmac('sha256', key).update(text).digest();
    const tokens = [
      forged({ alg: 'none', kid: 'one' }, () => Buffer.alloc(0)),
      forged({ alg: 'None', kid: 'one' }, () => Buffer.alloc(256)),
      forged({ kid: 'one' }, () => Buffer.alloc(256)),
      forged({ alg: ['RS256', 'none'], kid: 'one' }, () => Buffer.alloc(256)),
      ...[pem, der].map((key) => forged({ alg: 'HS256', kid: 'one' }, hmac(key))),
      jsonwebtoken.sign(claims(), google.privateKey, { algorithm: 'RS512', keyid: 'one' }),
      forged({ alg: 'PS256', kid: 'one' }, () => Buffer.alloc(256)),
    ];
    for (const token of tokens)
      expect(await check(token)).toEqual({ outcome: 'refused', reason: 'signature malformed' });
    // The header says RS256, and the signature is an HMAC.
    const mixed = forged({ alg: 'RS256', kid: 'one' }, hmac(pem));
    expect(await check(mixed)).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
    expect(await check(tokenOf({}, { header: { crit: ['exp2'], exp2: 1 } }))).toMatchObject({ outcome: 'refused' });
  });

  it('has exactly one encoding', async () => {
    const token = tokenOf();
    const wrong = [` ${token}`, `${token}=`, `${token}.`, `.${token}`, `${token}, Bearer ${token}`, 'a.b.c', '', '..'];
    for (const text of wrong) {
      expect(await check(text), text).toEqual({ outcome: 'refused', reason: 'signature malformed' });
    }
    for (const prefix of ['', 'bearer ', 'Bearer  ', 'Basic ']) {
      const delivery = deliveryWith({ authorization: prefix + token });
      const verdict = await verdictOn(googlePubsub, delivery, [SETTINGS], now);
      expect(verdict, prefix).toEqual({ outcome: 'refused', reason: 'signature malformed' });
    }
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each([[AUDIENCE], [`${SETTINGS} more`], ['two words'], [`${SETTINGS} key:`], [`${SETTINGS} key:AAAA`]])(
    'is not accepted with the secret %j',
    async (secret) => {
      expect(await check(tokenOf(), secret)).toMatchObject({ outcome: 'refused' });
      expect(fetch).not.toHaveBeenCalled();
    },
  );

  it('is accepted with the previous secret', async () => {
    const secrets = ['https://new.example.com/ new@ours.iam.gserviceaccount.com', SETTINGS];
    const delivery = deliveryWith({ authorization: `Bearer ${tokenOf()}` });
    expect(await verdictOn(googlePubsub, delivery, secrets, now)).toEqual({ outcome: 'verified', secretIndex: 1 });
  });
});

describe('fetched keys', () => {
  const unavailable = (why: string) => ({ outcome: 'keys_unavailable', host: 'www.googleapis.com', why });

  it('are fetched once for many concurrent deliveries, and cached for an hour', async () => {
    answerWith(() => published);
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => check(tokenOf())));
    expect(verdicts).toEqual(verdicts.map(() => verified));
    later(3_599_000);
    expect(await check(tokenOf())).toEqual(verified);
    expect(fetch).toHaveBeenCalledTimes(1);
    later(1000);
    expect(await check(tokenOf())).toEqual(verified);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it('are fetched again if a delivery names a new key', async () => {
    const next = generateKeyPairSync('rsa', { modulusLength: 2048 });
    answerWith(() => published);
    await check(tokenOf());
    later(10_000);
    answerWith(() => keySet(...published.keys, jwk(next.publicKey, 'two')));
    expect(await check(tokenOf({}, { key: next.privateKey, keyid: 'two' }))).toEqual(verified);
  });

  it('are fetched at most once in ten seconds, whatever strangers send', async () => {
    answerWith(() => published);
    const outcomes = new Set<string>();
    for (let n = 0; n < 200; n++) {
      const { outcome } = await check(tokenOf({}, { key: attacker.privateKey, keyid: `stranger-${n}` }));
      outcomes.add(outcome);
      expect(await check(tokenOf())).toEqual(verified);
      later(100);
    }
    expect(fetch).toHaveBeenCalledTimes(2);
    // The first one of each ten seconds is known to name no key. Of the others we can't know it.
    expect(outcomes).toEqual(new Set(['refused', 'keys_unavailable']));
  });

  it.each([
    ['status 500', () => new Response('', { status: 500 })],
    ['status 302', () => new Response('', { status: 302, headers: { location: 'https://attacker.example.com' } })],
    ['too large', () => new Response(' '.repeat(65 * 1024))],
    ['not a key', () => new Response('<html>')],
    ['not a key', () => ({ keys: [] })],
    ['no answer', () => Promise.reject(new TypeError('fetch failed'))],
    ['too slow', () => Promise.reject(new DOMException('', 'TimeoutError'))],
  ])('that can’t be fetched (%s) don’t refuse a delivery, which must be sent again', async (why, answer) => {
    answerWith(answer);
    expect(await check(tokenOf())).toEqual(unavailable(why));
    expect(await check(tokenOf())).toEqual(unavailable('asked a moment ago'));
    expect(fetch).toHaveBeenCalledTimes(1);
    expect(vi.mocked(fetch).mock.calls[0]?.[1]).toMatchObject({ redirect: 'manual', signal: expect.any(AbortSignal) });
    later(10_000);
    answerWith(() => published);
    expect(await check(tokenOf())).toEqual(verified);
  });

  it('are used for a day while their host doesn’t answer', async () => {
    answerWith(() => published);
    await check(tokenOf());
    later(23 * 3_600_000);
    answerWith(() => new Response('', { status: 503 }));
    expect(await check(tokenOf())).toEqual(verified);
    later(3_600_000);
    expect(await check(tokenOf())).toEqual(unavailable('status 503'));
  });

  it('are waited for at most two seconds, even if the delivery that requested them has ended', async () => {
    vi.useFakeTimers();
    answerWith(() => new Promise(() => {}));
    const waiting = check(tokenOf());
    await vi.advanceTimersByTimeAsync(2000);
    expect(await waiting).toEqual(unavailable('too slow'));
    vi.useRealTimers();
  });

  it('that can’t be fetched cause a 503 and a log line with their host', async () => {
    answerWith(() => new Response('', { status: 500 }));
    const source = { provider: googlePubsub, types: [] };
    const receiver = startReceiver({
      sources: { hook: source },
      env: { HOOK_WEBHOOK_SECRET: SETTINGS },
      now: () => now,
    });
    const answer = await receiver.send('hook', { headers: { authorization: `Bearer ${tokenOf()}` }, body: BODY });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    expect(receiver.lines).toEqual([
      expect.objectContaining({ step: 'delivery', source: 'hook', ...unavailable('status 500') }),
    ]);
    expect(receiver.forwarded).toEqual([]);
  });
});

describe('a key that is requested by its id', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const secret = '0123456789abcdef01234567 fedcba sandbox';
  const send = (keyid: string, changed: object = {}, body = BODY) => {
    const hash = createHash('sha256').update(BODY).digest('hex');
    const payload = { iat: seconds(), request_body_sha256: hash, ...changed };
    const token = jsonwebtoken.sign(payload, pair.privateKey, { algorithm: 'ES256', keyid });
    return verdictOn(plaid, deliveryWith({ 'plaid-verification': token }, body), [secret], now);
  };

  it('is requested with the customer’s own credentials, only from the environment’s host', async () => {
    answerWith(() => ({ key: jwk(pair.publicKey, 'one', { alg: 'ES256' }), request_id: 'x' }));
    expect(await send('one')).toEqual(verified);
    expect(await send('one')).toEqual(verified);
    expect(vi.mocked(fetch).mock.calls).toEqual([
      [
        'https://sandbox.plaid.com/webhook_verification_key/get',
        expect.objectContaining({
          method: 'POST',
          redirect: 'manual',
          body: JSON.stringify({ client_id: '0123456789abcdef01234567', secret: 'fedcba', key_id: 'one' }),
        }),
      ],
    ]);
  });

  it('is not requested if the body is not the signed one', async () => {
    answerWith(() => ({}));
    const refusal = { outcome: 'refused', reason: 'wrong claim', claim: 'jws:request_body_sha256' };
    expect(await send('one', {}, `${BODY} `)).toEqual(refusal);
    expect(await send('one', { request_body_sha256: undefined })).toEqual(refusal);
    expect(fetch).not.toHaveBeenCalled();
  });

  it('is not replaced by another key in the answer', async () => {
    answerWith(() => ({ key: jwk(pair.publicKey, 'other', { alg: 'ES256' }) }));
    expect(await send('one')).toEqual({ outcome: 'refused', reason: 'signature mismatch' });
  });
});

it('a user’s token, signed with the same keys of Kinde, is not an event', async () => {
  answerWith(() => published);
  const send = (payload: object, provider: Provider = kinde) => {
    const body = jsonwebtoken.sign(payload, google.privateKey, { algorithm: 'RS256', keyid: 'one' });
    return verdictOn(provider, deliveryWith({}, body), ['https://ours.kinde.com'], now);
  };
  const user = { iss: 'https://ours.kinde.com', sub: 'kp_1', aud: [], exp: seconds() + 60 };
  expect(await send(user)).toMatchObject({ reason: 'wrong claim', claim: 'jws:event_id' });
  expect(fetch).not.toHaveBeenCalled();
  expect(await send({ event_id: 'event_1', type: 'user.created', source: 'admin' })).toEqual(verified);
  expect(vi.mocked(fetch).mock.calls.map(([url]) => url)).toEqual(['https://ours.kinde.com/.well-known/jwks.json']);
});

it('a token from Netlify is refused with another issuer, another body or another secret', async () => {
  const send = (payload: object, secret = 'the secret') => {
    const token = jsonwebtoken.sign(payload, secret, { algorithm: 'HS256' });
    return verdictOn(netlify, deliveryWith({ 'x-webhook-signature': token }), ['the secret'], now);
  };
  const sha256 = createHash('sha256').update(BODY).digest('hex');
  expect(await send({ iss: 'netlify', sha256 })).toEqual(verified);
  expect(await send({ iss: 'attacker', sha256 })).toMatchObject({ claim: 'jws:iss' });
  expect(await send({ iss: 'netlify', sha256: sha256.toUpperCase() })).toMatchObject({ claim: 'jws:sha256' });
  expect(await send({ iss: 'netlify', sha256 }, 'another')).toMatchObject({ reason: 'signature mismatch' });
});
