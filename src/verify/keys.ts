import { type Bytes, fromBase64, fromHex } from '../encoding/bytes.ts';
import type { Signature } from '../providers/types.ts';

/**
 * The longest signature is Ed25519's: 64 bytes, 128 hex digits. A signature inside JSON could be as long as the body.
 */
const MAX_SIGNATURE_LENGTH = 128;

/** Decodes a signature strictly: each signature has exactly one spelling, so every changed character is refused. */
export function decode(text: string, encoding: Signature['encoding']): Bytes | undefined {
  if (text.length > MAX_SIGNATURE_LENGTH) return undefined;
  if (encoding === 'hex') return /^([0-9a-f]{2})+$/.test(text) ? fromHex(text) : undefined;
  const bytes = fromBase64(text);
  return bytes !== undefined && btoa(String.fromCharCode(...bytes)) === text ? bytes : undefined;
}

/**
 * The key bytes of a configured secret; `undefined` if the secret is not in the form that its provider gives out.
 *
 * The SDK of Standard Webhooks accepts a shared secret without its prefix, so we do as well. A public key needs its
 * prefix: without it, the key could be used as an HMAC secret, and anybody may know a public key. (`whpk_…` is not
 * base64, so it never becomes an HMAC key.) If somebody configures a public key without its prefix, nothing in its
 * bytes shows the mistake.
 */
export function keyBytes(
  secret: string,
  { algorithm = 'hmac-sha256', key, keyPrefix = '' }: Pick<Signature, 'algorithm' | 'key' | 'keyPrefix'>,
): Bytes | undefined {
  const prefixed = secret.startsWith(keyPrefix);
  if (!prefixed && !algorithm.startsWith('hmac-')) return undefined;
  const text = prefixed ? secret.slice(keyPrefix.length) : secret;
  const bytes = decodeKey(text, key);
  // WebCrypto throws for an empty HMAC key.
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
}

function decodeKey(text: string, key: Signature['key']): Bytes | undefined {
  switch (key) {
    case 'utf8':
      return Uint8Array.from(new TextEncoder().encode(text));
    case 'base64':
      return fromBase64(text);
    case 'hex':
      // Adyen shows its key in upper case.
      return /^([0-9a-f]{2})+$/i.test(text) ? fromHex(text) : undefined;
  }
}
