import { Environment, SignedDataVerifier } from '@apple/app-store-server-library';
import { expect, it } from 'vitest';
import { apple } from '../../../src/providers/apple.ts';
import { x5c } from '../../../src/verify/x5c.ts';
import {
  MISSING_X5C,
  SIGNED_DATA_ROOT,
  TEST_NOTIFICATION,
  TRANSACTION,
  WRONG_BUNDLE_ID,
} from '../../verify/apple-data.ts';
import { verdictOn } from '../../verify/deliveries.ts';

const { scheme } = apple;
if (scheme.check === undefined || scheme.kind !== 'jose' || !('x5c' in scheme.keys)) throw new Error('apple');
const provider = { ...apple, scheme: { ...scheme, keys: x5c({ ...scheme.keys.x5c, roots: [SIGNED_DATA_ROOT] }) } };

const accepts = async (signedPayload: string) => {
  const roots = [Buffer.from(SIGNED_DATA_ROOT, 'base64')];
  const library = new SignedDataVerifier(roots, false, Environment.SANDBOX, 'com.example');
  const byLibrary = await library.verifyAndDecodeNotification(signedPayload).then(
    () => true,
    () => false,
  );
  const body = new TextEncoder().encode(JSON.stringify({ signedPayload }));
  const delivery = { method: 'POST', url: 'https://example.com/', headers: new Headers(), body };
  const { outcome } = await verdictOn(provider, delivery, ['com.example Sandbox'], new Date('2025-11-01T00:00:00Z'));
  return [byLibrary, outcome === 'verified'];
};

const [header = '', payload = '', signature = ''] = TEST_NOTIFICATION.split('.');
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

it.each([
  ['its own test notification', TEST_NOTIFICATION, true],
  ['one for another app', WRONG_BUNDLE_ID, false],
  ['one without a chain', MISSING_X5C, false],
  ['a transaction', TRANSACTION, false],
  ['one with another payload', `${header}.${encoded({ notificationType: 'TEST' })}.${signature}`, false],
  ['one without a signature', `${header}.${payload}.`, false],
  ['one that says it has no algorithm', `${encoded({ alg: 'none' })}.${payload}.`, false],
])('Apple’s library and we judge alike: %s', async (_what, token, expected) => {
  expect(await accepts(token)).toEqual([expected, expected]);
});
