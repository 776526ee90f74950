import { createSign, generateKeyPairSync, sign as signWithKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkWith, decodeSignature, keyBytes } from '../../src/verify/algorithms.ts';

const utf8 = new TextEncoder();
const bytesOf = (words: string) => Uint8Array.from(utf8.encode(words));
const text = bytesOf('what is signed');

describe('an ECDSA signature in DER', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const check = await checkWith('ecdsa-p256-der', Uint8Array.from(publicKey.export({ type: 'spki', format: 'der' })));
  const sign = () => Uint8Array.from(createSign('sha256').update(text).sign(privateKey));

  it('is accepted for every length of its two numbers', async () => {
    const lengths = new Set<number>();
    // One number in 256 is a byte shorter than the others, and every second one needs a leading zero.
    for (let time = 0; time < 600; time++) {
      const signature = sign();
      lengths.add(signature.length);
      expect(await check?.(signature, text)).toBe(true);
    }
    expect(lengths.size).toBeGreaterThanOrEqual(3);
  });

  it('is refused in any other encoding', async () => {
    const signWith = (firstLength: number): Uint8Array<ArrayBuffer> => {
      const signature = sign();
      return signature[3] === firstLength ? signature : signWith(firstLength);
    };
    const good = signWith(32);
    // Its first number begins with a bit of 1, and therefore with a zero before it.
    const padded = signWith(33);
    const sequence = (...bytes: number[]) => Uint8Array.of(0x30, bytes.length, ...bytes);
    const wrong = [
      Uint8Array.of(),
      Uint8Array.of(0x30),
      sequence(),
      Uint8Array.of(...good, 0),
      good.subarray(0, -1),
      good.with(0, 0x31),
      good.with(1, 0),
      // An unnecessary zero, no zero where it is necessary, and a number that is too long.
      sequence(0x02, 33, 0, ...good.subarray(4)),
      sequence(0x02, 32, ...padded.subarray(5)),
      padded.with(4, 1),
      // The length in DER's long form.
      Uint8Array.of(0x30, 0x81, ...good.subarray(1)),
      // A third number.
      sequence(...good.subarray(2), 0x02, 1, 1),
      // Numbers without any bytes.
      sequence(0x02, 0, 0x02, 0),
      sequence(0x02, 1, 0, 0x02, 1, 0),
    ];
    for (const signature of wrong) expect(await check?.(signature, text), signature.join()).toBe(false);
  });
});

it('an Ed25519 signature of another length is wrong, as any other', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const check = await checkWith('ed25519', Uint8Array.from(key));
  const good = Uint8Array.from(signWithKey(null, text, privateKey));
  expect(await check?.(good, text)).toBe(true);
  for (const wrong of [new Uint8Array(), good.subarray(0, 44), Uint8Array.of(...good, 0)]) {
    expect(await check?.(wrong, text)).toBe(false);
  }
});

it('bytes that are not a key of the algorithm are not imported', async () => {
  expect(await checkWith('ed25519', bytesOf('too short'))).toBeUndefined();
  expect(await checkWith('ecdsa-p256-der', bytesOf('not SPKI'))).toBeUndefined();
  expect(await checkWith('hmac-sha256', new Uint8Array())).toBeUndefined();
});

it.each([
  ['ab'.repeat(64), 'hex', 64],
  ['ab'.repeat(65), 'hex', undefined],
  ['aB', 'hex', undefined],
  ['abc', 'hex', undefined],
  ['', 'hex', undefined],
  [`${'A'.repeat(126)}==`, 'base64', 94],
  ['A'.repeat(132), 'base64', undefined],
  ['AB==', 'base64', undefined],
  ['AA', 'base64', undefined],
  ['AA==\n', 'base64', undefined],
] as const)('a signature has exactly one spelling, of at most 128 characters: %s in %s', (text, encoding, length) => {
  expect(decodeSignature(text, encoding)?.length).toBe(length);
});

it.each([
  ['whsec_AAAA', { key: 'base64', keyPrefix: 'whsec_' }, 3],
  ['AAAA', { key: 'base64', keyPrefix: 'whsec_' }, 3],
  ['AAAA', { key: 'base64', keyPrefix: 'whpk_', algorithm: 'ed25519' }, undefined],
  ['whpk_AAAA', { key: 'base64', keyPrefix: 'whpk_', algorithm: 'ed25519' }, 3],
  ['whsec_AAAA', { key: 'utf8' }, 10],
  ['é', { key: 'utf8' }, 2],
  ['aBcD', { key: 'hex' }, 2],
  ['abc', { key: 'hex' }, undefined],
  ['', { key: 'utf8' }, undefined],
  ['whsec_', { key: 'base64', keyPrefix: 'whsec_' }, undefined],
  ['AAAA=A', { key: 'base64' }, undefined],
] as const)('the secret %j as %j has %s bytes of a key', (secret, scheme, length) => {
  expect(keyBytes(secret, scheme)?.length).toBe(length);
});
