import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Signature } from '../../src/providers/types.ts';

/** What a provider gives out, and what it keeps to sign with: the same thing, unless it has a pair of keys. */
export interface Keys {
  readonly secret: string;
  readonly signingKey: string;
}

/** Random keys in the form that the provider gives out. */
export function madeUpKeys({ scheme }: Provider): Keys {
  if (scheme.token !== undefined) return same(scheme.basic ? `sample:${random('hex')}` : random('hex'));
  if (hasPair(scheme)) return madeUpPair(scheme);
  return same(`${scheme.keyPrefix ?? ''}${random(scheme.key === 'base64' ? 'base64' : 'hex')}`);
}

/** Who receives has the public key alone, and can sign no sample with it. */
export function hasPair({ algorithm }: Signature): boolean {
  return algorithm === 'ed25519' || algorithm === 'ecdsa-p256-der';
}

function madeUpPair({ algorithm, key, keyPrefix = '' }: Signature): Keys {
  const { publicKey, privateKey } =
    algorithm === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  // Ed25519 keys are given out bare: the last 32 bytes of their SPKI (RFC 8410, section 4).
  const bytes = algorithm === 'ed25519' ? spki.subarray(-32) : spki;
  return {
    secret: keyPrefix + bytes.toString(key === 'hex' ? 'hex' : 'base64'),
    signingKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
  };
}

function random(encoding: 'hex' | 'base64'): string {
  return randomBytes(32).toString(encoding);
}

function same(secret: string): Keys {
  return { secret, signingKey: secret };
}
