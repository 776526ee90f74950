import type { Algorithm, Signature } from '../providers/types.ts';
import { type Bytes, fromBase64, fromHex } from '../shared/bytes.ts';

/** Whether a signature matches. */
export type Check = (signature: Bytes, signed: Bytes) => Promise<boolean>;

/** The Workers runtime throws if an Ed25519 signature has another length. */
const ED25519_BYTES = 64;

/**
 * Imports a key. Returns `undefined` if the bytes are not a key for this algorithm. WebCrypto compares in constant
 * time.
 */
export async function checkWith(algorithm: Algorithm, bytes: Bytes): Promise<Check | undefined> {
  try {
    const { format, importAs, verifyAs } = ALGORITHMS[algorithm];
    const key = await crypto.subtle.importKey(format, bytes, importAs, false, ['verify']);
    return async (signature, signed) => {
      const raw = algorithm === 'ecdsa-p256-der' ? fromDer(signature) : signature;
      if (raw === undefined || (algorithm === 'ed25519' && raw.length !== ED25519_BYTES)) return false;
      return crypto.subtle.verify(verifyAs, key, raw, signed);
    };
  } catch {
    return undefined;
  }
}

/**
 * Compares two texts in constant time. WebCrypto can't compare texts, so this signs one text with a random key and
 * verifies that signature for the other text.
 */
export async function sameText(one: string, other: string): Promise<boolean> {
  const utf8 = new TextEncoder();
  const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  const signature = await crypto.subtle.sign('HMAC', key as CryptoKey, utf8.encode(one));
  return crypto.subtle.verify('HMAC', key as CryptoKey, signature, utf8.encode(other));
}

const ALGORITHMS = {
  'hmac-sha256': { format: 'raw', importAs: { name: 'HMAC', hash: 'SHA-256' }, verifyAs: { name: 'HMAC' } },
  'hmac-sha384': { format: 'raw', importAs: { name: 'HMAC', hash: 'SHA-384' }, verifyAs: { name: 'HMAC' } },
  'hmac-sha512': { format: 'raw', importAs: { name: 'HMAC', hash: 'SHA-512' }, verifyAs: { name: 'HMAC' } },
  'hmac-sha1': { format: 'raw', importAs: { name: 'HMAC', hash: 'SHA-1' }, verifyAs: { name: 'HMAC' } },
  ed25519: { format: 'raw', importAs: { name: 'Ed25519' }, verifyAs: { name: 'Ed25519' } },
  'ecdsa-p256-der': {
    format: 'spki',
    importAs: { name: 'ECDSA', namedCurve: 'P-256' },
    verifyAs: { name: 'ECDSA', hash: 'SHA-256' },
  },
} as const satisfies Record<Algorithm, object>;

/** A P-256 signature is two numbers of 32 bytes. */
const NUMBER_BYTES = 32;

/**
 * Converts an ECDSA signature from DER (X.690, 8.3), which senders use, to the two concatenated numbers that WebCrypto
 * expects. Integers with unnecessary leading bytes are refused, so that each signature has exactly one encoding.
 */
export function fromDer(der: Bytes, numberBytes = NUMBER_BYTES): Bytes | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const raw = new Uint8Array(2 * numberBytes);
  let at = 2;
  for (const end of [numberBytes, 2 * numberBytes]) {
    const length = der[at + 1] ?? 0;
    const value = der.subarray(at + 2, at + 2 + length);
    if (der[at] !== 0x02 || length === 0 || value.length !== length) return undefined;
    const [first = 0, second = 0] = value;
    // A first bit of 1 means a negative number, which is invalid. A leading zero byte is allowed only to avoid that.
    if (first > 0x7f || (first === 0 && length > 1 && second <= 0x7f)) return undefined;
    const digits = first === 0 ? value.subarray(1) : value;
    if (digits.length > numberBytes) return undefined;
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}

/**
 * The longest signatures (Ed25519 and HMAC-SHA512) have 64 bytes, or 128 hex digits. A text inside JSON could be as
 * long as the body, so it is limited before it is decoded.
 */
const MAX_SIGNATURE_LENGTH = 128;

/** Decodes a signature strictly. Each signature has exactly one encoding, so a change to any character is refused. */
export function decodeSignature(text: string, encoding: Signature['encoding']): Bytes | undefined {
  if (text.length > MAX_SIGNATURE_LENGTH) return undefined;
  if (encoding === 'hex') return /^([0-9a-f]{2})+$/.test(text) ? fromHex(text) : undefined;
  const bytes = fromBase64(text);
  return bytes !== undefined && btoa(String.fromCharCode(...bytes)) === text ? bytes : undefined;
}

/**
 * The key bytes of a configured secret, or `undefined` if the secret doesn't have its provider's format.
 *
 * A shared secret may lack its prefix, because the SDK of Standard Webhooks accepts that. A public key must have its
 * prefix. Otherwise it could be used as an HMAC secret, and anybody may know a public key. (`whpk_…` is not base64, so
 * it never becomes an HMAC key.) A public key that is configured without its prefix can't be detected.
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
      // Adyen displays its key in upper case.
      return /^([0-9a-f]{2})+$/i.test(text) ? fromHex(text) : undefined;
  }
}
