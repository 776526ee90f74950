import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sampleOf } from '../../cli/samples/samples.ts';
import { madeUpKeys, sign } from '../../cli/samples/sign.ts';
import { defineProvider } from '../../src/providers/define.ts';
import type { Provider } from '../../src/providers/index.ts';
import { verdictOn } from './deliveries.ts';

/** The tutorial's example: an in-house sender in five lines. */
const billing = defineProvider({
  name: 'billing',
  docs: 'Ours: hex HMAC-SHA256 of the body.',
  scheme: { signature: 'header:x-billing-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
});

/** A provider that uses everything a header can hold. */
const elaborate = defineProvider({
  name: 'elaborate',
  docs: 'Ours: base64 HMAC-SHA256 of a time in ms, an id and the body.',
  scheme: {
    signature: 'header:x-signature#v1',
    encoding: 'base64',
    key: 'base64',
    keyPrefix: 'key_',
    signed: '{header:x-signature#t}.{header:x-id}.{body}',
    timestamp: { at: 'header:x-signature#t', unit: 'ms', windowSeconds: 60 },
  },
  id: { at: '{header:x-id}', signed: true },
  type: ['{header:x-type}'],
  occurredAt: { at: 'json:meta.at', unit: 'iso' },
});

const token: Provider = {
  ...billing,
  name: 'token',
  scheme: { token: 'header:x-token' },
  occurredAt: { at: 'json:at', unit: 's' },
};

const check = (provider: Provider, headers: Record<string, string>, body: string, secret: string) =>
  verdictOn(
    provider,
    {
      method: 'POST',
      url: 'https://example.com/',
      headers: new Headers(headers),
      body: new TextEncoder().encode(body),
    },
    [secret],
    new Date(),
  );

const SECRET = 'a secret';
const BODY = '{"id":"1","type":"invoice.sent"}';
const signedWith = (hash: string) => ({
  'x-billing-signature': createHmac(hash, SECRET).update(BODY).digest('hex'),
});

const billingWith = (hash: string) =>
  ({ ...billing, name: hash, scheme: { ...billing.scheme, algorithm: `hmac-${hash}` } }) as Provider;

describe('a user’s own provider', () => {
  it.each(['sha1', 'sha256', 'sha384', 'sha512'])(
    'may sign with HMAC-%s, and is verified by no other',
    async (hash) => {
      expect(await check(billingWith(hash), signedWith(hash), BODY, SECRET)).toMatchObject({ outcome: 'verified' });
      const other = hash === 'sha512' ? 'sha384' : 'sha512';
      expect(await check(billingWith(hash), signedWith(other), BODY, SECRET)).toMatchObject({
        reason: 'signature mismatch',
      });
    },
  );

  describe('with a signed time that is a text', () => {
    const timed: Provider = {
      ...billing,
      name: 'timed',
      scheme: {
        signature: 'header:x-billing-signature',
        encoding: 'hex',
        key: 'utf8',
        signed: '{header:x-time}{body}',
        timestamp: { at: 'header:x-time', unit: 'iso', windowSeconds: 60 },
      },
    };
    const outcomeAt = async (time: string, now: string) => {
      const signature = createHmac('sha256', SECRET)
        .update(time + BODY)
        .digest('hex');
      const headers = new Headers({ 'x-time': time, 'x-billing-signature': signature });
      const delivery = { method: 'POST', url: 'https://example.com/', headers, body: new TextEncoder().encode(BODY) };
      const verdict = await verdictOn(timed, delivery, [SECRET], new Date(now));
      return verdict.outcome !== 'refused' ? verdict.outcome : [verdict.reason, verdict.secondsOff];
    };

    it.each(['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.123456789Z', '2026-03-01T14:30:00.1+02:30'])(
      'accepts %s within its window, and no longer',
      async (time) => {
        expect(await outcomeAt(time, '2026-03-01T12:01:00Z')).toBe('verified');
        expect(await outcomeAt(time, '2026-03-01T11:59:00Z')).toBe('verified');
        expect(await outcomeAt(time, '2026-03-01T12:01:01Z')).toEqual(['timestamp outside the window', 61]);
        expect(await outcomeAt(time, '2026-03-01T11:58:59Z')).toEqual(['timestamp outside the window', -61]);
      },
    );

    // Without a zone it is another time in another place, and JavaScript reads many texts as times.
    it.each([
      '2026-03-01T12:00:00',
      '2026-03-01 12:00:00Z',
      '2026-03-01',
      '2026-13-01T12:00:00Z',
      '1772366400',
      'March 1, 2026 12:00:00 UTC',
      '+002026-03-01T12:00:00Z',
      '2026-03-01T12:00:00Z (1)',
      '2026-03-01T12:00:00.0123456789Z',
    ])('refuses %s', async (time) => {
      expect(await outcomeAt(time, '2026-03-01T12:00:00Z')).toEqual(['timestamp malformed', undefined]);
    });
  });

  it('refuses a form with more tokens than a call can have arguments', async () => {
    const inForm: Provider = { ...billing, name: 'form', scheme: { token: 'form:t' } };
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const verdict = await check(inForm, headers, 't=a&'.repeat(200_000), 'a secret');
    expect(verdict).toEqual({ outcome: 'refused', reason: 'too many signatures' });
  });

  it.each([billing, billingWith('sha512'), elaborate, token])(
    'gets a generated sample that verifies: $name',
    async (provider: Provider) => {
      const { secret, signingKey } = madeUpKeys(provider);
      const { types, id } = sampleOf(provider);
      const now = new Date();
      const { headers, body } = sign(provider, signingKey, { id: id(), type: types[0], now });
      expect(await check(provider, headers, body, secret)).toMatchObject({ outcome: 'verified' });
      expect(headers['x-type'] ?? JSON.parse(body).type).toBe('sample.created');
      if (provider === token) expect(JSON.parse(body).at).toBe(now.getTime() / 1000);
    },
  );
});
