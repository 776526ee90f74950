import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { apple } from '../../src/providers/apple.ts';
import type { Provider } from '../../src/providers/index.ts';
import { x5c } from '../../src/verify/x5c.ts';
import {
  APPLE_ISSUER,
  APPLE_LEAF,
  ISSUER_OF_ANOTHER_KIND,
  LEAF_OF_ANOTHER_KIND,
  LEAF_OF_THAT_ISSUER,
  MISSING_X5C,
  SIGNED_DATA_ROOT,
  TEST_ISSUER,
  TEST_LEAF,
  TEST_NOTIFICATION,
  TEST_ROOT,
  TRANSACTION,
  WRONG_BUNDLE_ID,
} from './apple-data.ts';
import { certificateOf } from './certificates.ts';
import { verdictOn } from './deliveries.ts';

const { scheme } = apple;
if (scheme.check === undefined || scheme.kind !== 'jose' || !('x5c' in scheme.keys)) throw new Error('apple');
const { leafExtension, issuerExtension, roots } = scheme.keys.x5c;
const keysFor = (root: string) => x5c({ leafExtension, issuerExtension, roots: [root] });
const at = (time: string) => new Date(time);
const THEN = at('2025-11-01T02:09:35Z');

const isBelieved = async (root: string, chain: readonly unknown[], now = THEN) => {
  const keys = keysFor(root);
  return (await keys.keyOf(keys.x5c, chain, now)) !== undefined;
};

describe('a chain of certificates', () => {
  it('from Apple is trusted if it ends at Apple’s root', async () => {
    expect(await isBelieved(roots[0] ?? '', [APPLE_LEAF, APPLE_ISSUER, 'not looked at'])).toBe(true);
    expect(await isBelieved(TEST_ROOT, [APPLE_LEAF, APPLE_ISSUER, TEST_ROOT])).toBe(false);
  });

  it('from Apple’s tests gets the same verdict as from Apple’s library', async () => {
    expect(await isBelieved(TEST_ROOT, [TEST_LEAF, TEST_ISSUER, TEST_ROOT])).toBe(true);
    const wrong = [
      [LEAF_OF_THAT_ISSUER, ISSUER_OF_ANOTHER_KIND, TEST_ROOT],
      [LEAF_OF_ANOTHER_KIND, TEST_ISSUER, TEST_ROOT],
      [TEST_LEAF, APPLE_ISSUER, TEST_ROOT],
      [APPLE_LEAF, TEST_ISSUER, TEST_ROOT],
      [TEST_LEAF, TEST_ISSUER],
      [TEST_LEAF, TEST_ISSUER, TEST_ROOT, TEST_ROOT],
      [TEST_LEAF, TEST_LEAF, TEST_ROOT],
      [TEST_ISSUER, TEST_ROOT, TEST_ROOT],
      [TEST_LEAF, 'AAAA', TEST_ROOT],
      [1, 2, 3],
    ];
    for (const chain of wrong) expect(await isBelieved(TEST_ROOT, chain)).toBe(false);
    expect(await isBelieved(roots[0] ?? '', [TEST_LEAF, TEST_ISSUER, TEST_ROOT])).toBe(false);
  });

  it('is no longer trusted after one of its certificates has expired, even if it was verified before', async () => {
    const chain = [TEST_LEAF, TEST_ISSUER, TEST_ROOT];
    expect(await isBelieved(TEST_ROOT, chain)).toBe(true);
    for (const time of ['2042-04-13T00:00:00Z', '2023-01-05T00:00:00Z']) {
      expect(await isBelieved(TEST_ROOT, chain, at(time)), time).toBe(false);
    }
  });
});

const withRoot = (root: string): Provider => ({ ...apple, scheme: { ...scheme, keys: keysFor(root) } });
const SECRET = 'com.example Sandbox';

const check = (signedPayload: string, { secret = SECRET, provider = withRoot(SIGNED_DATA_ROOT), now = THEN } = {}) => {
  const body = new TextEncoder().encode(JSON.stringify({ signedPayload }));
  const delivery = { method: 'POST', url: 'https://example.com/', headers: new Headers(), body };
  return verdictOn(provider, delivery, [secret], now);
};

describe('signed data from Apple’s tests', () => {
  it('is accepted only for its app, its environment and its root', async () => {
    expect(await check(TEST_NOTIFICATION)).toEqual({ outcome: 'verified', secretIndex: 0 });
    const wrong = { reason: 'wrong claim' };
    expect(await check(TEST_NOTIFICATION, { secret: 'com.example Production' })).toMatchObject(wrong);
    expect(await check(TEST_NOTIFICATION, { secret: 'com.example.other Sandbox' })).toMatchObject(wrong);
    expect(await check(WRONG_BUNDLE_ID)).toMatchObject(wrong);
    expect(await check(TEST_NOTIFICATION, { provider: apple })).toMatchObject({ reason: 'signature mismatch' });
    expect(await check(TEST_NOTIFICATION, { now: at('2045-01-01T00:00:00Z') })).toMatchObject({
      reason: 'signature mismatch',
    });
  });

  it('is refused without its chain, or if it is a transaction, which every buyer has', async () => {
    expect(await check(MISSING_X5C)).toMatchObject({ outcome: 'refused' });
    expect(await check(TRANSACTION)).toMatchObject({ reason: 'wrong claim', claim: 'jws:notificationType' });
  });
});

describe('an attacker’s chain', () => {
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const keys = { root: pair(), issuer: pair(), leaf: pair() };
  const dates = { from: at('2025-01-01T00:00:00Z'), to: at('2026-01-01T00:00:00Z') };
  const IS_CA = ['551d13', '30030101ff'] as const;
  const root = certificateOf({ subject: 'Root', ...keys.root, ...dates, extensions: [IS_CA] }).toString('base64');
  const made = (changed: { issuerCa?: boolean; issuerBy?: KeyObject; leafBy?: KeyObject; to?: Date } = {}) => {
    const {
      issuerCa = true,
      issuerBy = keys.root.privateKey,
      leafBy = keys.issuer.privateKey,
      to = dates.to,
    } = changed;
    const issuer = certificateOf({
      subject: 'Issuer',
      issuer: 'Root',
      publicKey: keys.issuer.publicKey,
      privateKey: issuerBy,
      ...dates,
      extensions: [[issuerExtension, '0500'], ...(issuerCa ? [IS_CA] : [])],
    });
    const leaf = certificateOf({
      subject: 'Leaf',
      issuer: 'Issuer',
      publicKey: keys.leaf.publicKey,
      privateKey: leafBy,
      ...dates,
      to,
      extensions: [[leafExtension, '0500']],
    });
    return [leaf, issuer].map((der) => der.toString('base64')).concat(root);
  };

  it('is trusted only if each link is signed by an authority that is valid now', async () => {
    expect(await isBelieved(root, made(), at('2025-06-01T00:00:00Z'))).toBe(true);
    const now = at('2025-06-01T00:00:00Z');
    expect(await isBelieved(root, made({ issuerCa: false }), now)).toBe(false);
    expect(await isBelieved(root, made({ issuerBy: keys.leaf.privateKey }), now)).toBe(false);
    expect(await isBelieved(root, made({ leafBy: keys.root.privateKey }), now)).toBe(false);
    expect(await isBelieved(root, made({ to: at('2025-05-01T00:00:00Z') }), now)).toBe(false);
    // Its own root, with the name of the real one.
    expect(await isBelieved(SIGNED_DATA_ROOT, made(), now)).toBe(false);
  });

  it('is not trusted for Apple’s root', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const payload = {
      notificationType: 'TEST',
      notificationUUID: '1',
      data: { bundleId: 'com.example', environment: 'Sandbox' },
    };
    const text = `${part({ alg: 'ES256', x5c: made() })}.${part(payload)}`;
    const key = {
      key: keys.leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      dsaEncoding: 'ieee-p1363',
    } as const;
    const token = `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
    const now = at('2025-06-01T00:00:00Z');
    expect(await check(token, { provider: withRoot(root), now })).toMatchObject({ outcome: 'verified' });
    expect(await check(token, { provider: apple, now })).toMatchObject({ reason: 'signature mismatch' });
  });
});
