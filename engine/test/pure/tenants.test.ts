import { createHmac, hkdfSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { googlePubsub } from '../../src/providers/google-pubsub.ts';
import { providers } from '../../src/providers/index.ts';
import { notion } from '../../src/providers/notion.ts';
import { postmark } from '../../src/providers/postmark.ts';
import { sendgrid } from '../../src/providers/sendgrid.ts';
import { standardwebhooks } from '../../src/providers/standardwebhooks.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { decrypt } from '../../src/shared/aes-gcm.ts';
import {
  addressOf,
  derivedSecret,
  isTenantName,
  readSegment,
  sealSecret,
  secretOf,
  segmentOf,
  type TenantKeys,
  tenantKeysFrom,
} from '../../src/shared/tenants.ts';
import { canBeDerived, isUsableSecret } from '../../src/verify/secret-form.ts';

const KEY = 'k'.repeat(32);
const OLD = 'o'.repeat(40);
const ACME = { source: 'woo', tenant: 'acme' };

async function keysFrom(current = KEY, previous?: string): Promise<TenantKeys> {
  const keys = await tenantKeysFrom(current, previous);
  if (keys === undefined) throw new Error('the keys are too short');
  return keys;
}

/** Node's own HKDF and HMAC: another implementation than WebCrypto's. */
const keyOf = (label: string, key = KEY, length = 32) => Buffer.from(hkdfSync('sha256', key, '', label, length));
const macOf = (label: string, value: unknown) =>
  createHmac('sha256', keyOf(label)).update(JSON.stringify(value)).digest('hex');

describe('the keys', () => {
  it('make addresses and secrets as HKDF and HMAC say', async () => {
    const [key] = await keysFrom();
    expect(key.id).toBe(keyOf('id', KEY, 4).toString('hex'));
    expect(await segmentOf(key, ACME)).toBe(`acme.${macOf('address', ['woo', 'acme']).slice(0, 32)}`);
    expect(await derivedSecret(key, ACME, 3)).toBe(macOf('secret', ['woo', 'acme', 3]));
  });

  it('encrypt stored secrets with AES-GCM, bound to source, tenant and column', async () => {
    const [key] = await keysFrom();
    const sealed = await sealSecret(key, ACME, 'sealed', 'whsec_abc');
    const aes = await crypto.subtle.importKey('raw', new Uint8Array(keyOf('seal')), 'AES-GCM', false, ['decrypt']);
    const opened = decrypt(aes, sealed, JSON.stringify(['woo', 'acme', 'sealed'])).catch(() => 'not opened');
    expect(await opened).toBe('whsec_abc');
    expect(await sealSecret(key, ACME, 'sealed', 'whsec_abc')).not.toBe(sealed);
  });

  it.each([
    ['missing', undefined, undefined],
    ['empty', '', undefined],
    ['too short', 'k'.repeat(31), undefined],
    ['too short without white space', ` ${'k'.repeat(31)}\n`, undefined],
    ['short as the previous one', KEY, 'k'.repeat(31)],
  ])('are none if one is %s', async (_what, current, previous) => {
    expect(await tenantKeysFrom(current, previous)).toBeUndefined();
  });

  it('are the same with white space at the ends', async () => {
    expect((await keysFrom(` ${KEY}\n`))[0].id).toBe((await keysFrom())[0].id);
  });
});

describe('an address', () => {
  it('is read by the key that made it, or by the previous one', async () => {
    const segment = await segmentOf((await keysFrom(OLD))[0], ACME);
    expect(await readSegment(await keysFrom(KEY, OLD), 'woo', segment)).toEqual({ tenant: 'acme', keyIndex: 1 });
    expect(await readSegment(await keysFrom(OLD), 'woo', segment)).toEqual({ tenant: 'acme', keyIndex: 0 });
    expect(await readSegment(await keysFrom(), 'woo', segment)).toBeUndefined();
  });

  it('with any changed character is none of ours', async () => {
    const keys = await keysFrom();
    const segment = await segmentOf(keys[0], ACME);
    for (const n of segment.split('').keys()) {
      const changed = `${segment.slice(0, n)}${segment[n] === '0' ? '1' : '0'}${segment.slice(n + 1)}`;
      expect(await readSegment(keys, 'woo', changed), changed).toBeUndefined();
    }
    expect(await readSegment(keys, 'github', segment)).toBeUndefined();
    for (const bad of [
      '',
      'acme',
      'acme.',
      segment.slice(0, -1),
      `${segment}0`,
      segment.toUpperCase(),
      `.${segment}`,
    ]) {
      expect(await readSegment(keys, 'woo', bad), bad).toBeUndefined();
    }
  });

  it('has the segment at the end of its path', () => {
    expect(addressOf('https://hooks.example.com/webhooks/sms', 'acme.0')).toBe(
      'https://hooks.example.com/webhooks/sms/acme.0',
    );
    expect(addressOf('https://example.com/sms?a=1?b', 'acme.0')).toBe('https://example.com/sms/acme.0?a=1?b');
  });

  it.each([
    ['acme', true],
    ['a-1_b', true],
    ['a'.repeat(64), true],
    ['a'.repeat(65), false],
    ['', false],
    ['Acme', false],
    ['a:b', false],
    ['a.b', false],
    ['acme\n', false],
    ['ä', false],
  ])('has a tenant named %j: %s', (name, isName) => {
    expect(isTenantName(name)).toBe(isName);
  });
});

describe('a stored secret', () => {
  it('is opened only where it was sealed, by the key that sealed it', async () => {
    const keys = await keysFrom();
    const [key] = keys;
    const stored = { keyId: key.id, generation: 1, sealed: await sealSecret(key, ACME, 'sealed', 'whsec_abc') };
    expect(await secretOf(keys, ACME, 'sealed', stored)).toBe('whsec_abc');
    expect(await secretOf(keys, { source: 'woo', tenant: 'evil' }, 'sealed', stored)).toBeUndefined();
    expect(await secretOf(keys, { source: 'github', tenant: 'acme' }, 'sealed', stored)).toBeUndefined();
    expect(await secretOf(keys, ACME, 'sealed_previous', stored)).toBeUndefined();
    expect(await secretOf(keys, ACME, 'sealed', { ...stored, sealed: 'not base64' })).toBeUndefined();
    const others = await keysFrom(OLD);
    expect(await secretOf(others, ACME, 'sealed', stored)).toBeUndefined();
    expect(await secretOf(others, ACME, 'sealed', { ...stored, keyId: others[0].id })).toBeUndefined();
    expect(await secretOf(await keysFrom(OLD, KEY), ACME, 'sealed', stored)).toBe('whsec_abc');
  });
});

describe('a derived secret', () => {
  it('is another one for each key, source, tenant and generation', async () => {
    const [one] = await keysFrom();
    const [other] = await keysFrom(OLD);
    const secrets = await Promise.all([
      derivedSecret(one, ACME, 1),
      derivedSecret(one, ACME, 2),
      derivedSecret(other, ACME, 1),
      derivedSecret(one, { source: 'woo', tenant: 'acme1' }, 1),
      derivedSecret(one, { source: 'wooacme', tenant: '' }, 1),
      derivedSecret(one, { source: 'github', tenant: 'acme' }, 1),
    ]);
    expect(new Set(secrets).size).toBe(secrets.length);
  });

  it('is usable wherever it may be derived', async () => {
    const secret = await derivedSecret((await keysFrom())[0], ACME, 1);
    const derivable = Object.values(providers).filter(canBeDerived);
    expect(derivable.length).toBeGreaterThan(30);
    for (const provider of derivable) expect(isUsableSecret(provider, secret), provider.name).toBe(true);
  });

  it('is for shared secrets only, and not for a sender that makes them itself', () => {
    expect([github, standardwebhooks].map(canBeDerived)).toEqual([true, true]);
    expect([stripe, postmark, sendgrid, googlePubsub].map(canBeDerived)).toEqual([false, false, false, false]);
  });
});

it.each([
  [stripe, 'whsec_abc', true],
  [stripe, 'sk_live_abc', false],
  [standardwebhooks, 'whsec_not base64', false],
  [postmark, 'user:password', true],
  [postmark, 'password', false],
  [github, ' ', false],
])('whether $name can use the secret %j', (provider, secret, isUsable) => {
  expect(isUsableSecret(provider, secret)).toBe(isUsable);
});

it('a source whose provider hands its secrets over has no tenants', () => {
  expect(() => defineSources({ pages: { provider: notion, types: '*', tenants: true } })).toThrow('hands its secrets');
});
