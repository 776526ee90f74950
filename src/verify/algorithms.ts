import type { Bytes } from '../encoding/bytes.ts';
import type { Algorithm } from '../providers/types.ts';

/** Tells whether a signature is right. */
export type Check = (signature: Bytes, signed: Bytes) => Promise<boolean>;

/** Prepares a key for its algorithm; `undefined` where it isn't one. WebCrypto does the comparing, in constant time. */
export async function checkWith(algorithm: Algorithm, bytes: Bytes): Promise<Check | undefined> {
  try {
    const { format, imported, used, raw = (signature: Bytes) => signature } = ALGORITHMS[algorithm];
    const key = await crypto.subtle.importKey(format, bytes, imported, false, ['verify']);
    return async (signature, signed) => {
      const plain = raw(signature);
      return plain !== undefined && crypto.subtle.verify(used, key, plain, signed);
    };
  } catch {
    return undefined;
  }
}

/** Equality that takes the same time wherever two texts differ: both are signed with a key nobody knows, and compared so. */
export async function sameText(one: string, other: string): Promise<boolean> {
  const utf8 = new TextEncoder();
  const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  const signature = await crypto.subtle.sign('HMAC', key as CryptoKey, utf8.encode(one));
  return crypto.subtle.verify('HMAC', key as CryptoKey, signature, utf8.encode(other));
}

interface Way {
  readonly format: 'raw' | 'spki';
  readonly imported: { name: string; hash?: string; namedCurve?: string };
  readonly used: { name: string; hash?: string };
  readonly raw?: (signature: Bytes) => Bytes | undefined;
}

const ALGORITHMS: Readonly<Record<Algorithm, Way>> = {
  'hmac-sha256': { format: 'raw', imported: { name: 'HMAC', hash: 'SHA-256' }, used: { name: 'HMAC' } },
  'hmac-sha1': { format: 'raw', imported: { name: 'HMAC', hash: 'SHA-1' }, used: { name: 'HMAC' } },
  ed25519: { format: 'raw', imported: { name: 'Ed25519' }, used: { name: 'Ed25519' } },
  'ecdsa-p256-der': {
    format: 'spki',
    imported: { name: 'ECDSA', namedCurve: 'P-256' },
    used: { name: 'ECDSA', hash: 'SHA-256' },
    raw: fromDer,
  },
};

/** P-256: two numbers of 32 bytes. */
const NUMBER = 32;

/**
 * WebCrypto wants the two numbers of an ECDSA signature side by side; senders wrap them in DER (X.690, 8.3): a sequence
 * of two integers, each without needless leading bytes. Any other spelling is refused.
 */
function fromDer(der: Bytes): Bytes | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const raw = new Uint8Array(2 * NUMBER);
  let at = 2;
  for (const end of [NUMBER, 2 * NUMBER]) {
    const length = der[at + 1] ?? 0;
    const value = der.subarray(at + 2, at + 2 + length);
    if (der[at] !== 0x02 || length === 0 || value.length !== length) return undefined;
    const [first = 0, second = 0] = value;
    // A leading zero stands only before a byte that would make the number negative; without it the number is negative.
    if (first > 0x7f || (first === 0 && length > 1 && second <= 0x7f)) return undefined;
    const digits = first === 0 ? value.subarray(1) : value;
    if (digits.length > NUMBER) return undefined;
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}
