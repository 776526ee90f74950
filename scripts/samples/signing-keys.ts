import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Signature } from '../../src/providers/types.ts';

export interface Keys {
  /** The secret that the provider shows to its users: what the receiver is configured with. */
  readonly secret: string;
  /** The key that the provider signs with: the same as the secret, unless the secret is a public key. */
  readonly signingKey: string;
}

/** Random keys in the provider's own form. */
export function madeUpKeys({ scheme }: Provider): Keys {
  if (scheme.token !== undefined) return same(scheme.basic ? `sample:${random('hex')}` : random('hex'));
  if (hasPair(scheme)) return madeUpPair(scheme);
  return same(`${scheme.keyPrefix ?? ''}${random(scheme.key === 'base64' ? 'base64' : 'hex')}`);
}

/** If so, a receiver only has the public key, which can't sign a sample. */
export function hasPair({ algorithm }: Signature): boolean {
  return algorithm === 'ed25519' || algorithm === 'ecdsa-p256-der';
}

function madeUpPair({ algorithm, key, keyPrefix = '' }: Signature): Keys {
  const { publicKey, privateKey } =
    algorithm === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  // Providers show an Ed25519 key without its SPKI wrapping: only its last 32 bytes (RFC 8410, section 4).
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
