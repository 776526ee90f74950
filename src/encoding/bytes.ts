import type { Signature } from '../providers/types.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

/** Ed25519's 64 bytes in hex are the longest signature. One inside JSON could be as long as the body. */
const MAX_LENGTH = 128;

/** Strict in both encodings: a signature has one spelling, so a changed byte is always a refusal. */
export function decode(text: string, encoding: 'hex' | 'base64'): Bytes | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  if (encoding === 'hex') return /^([0-9a-f]{2})+$/.test(text) ? fromHex(text) : undefined;
  const bytes = fromBase64(text);
  return bytes !== undefined && btoa(String.fromCharCode(...bytes)) === text ? bytes : undefined;
}

/**
 * The key a secret stands for, if it is in the form its provider gives out. A shared secret may come without its prefix,
 * as in the SDK of Standard Webhooks; a public key may not, since the prefix is what tells it from a shared secret.
 * `whpk_…` is no base64, so it never becomes an HMAC key. A bare public key would, and anybody may know it: who sets one
 * as the secret has left its prefix out, and nothing in its bytes could tell us.
 */
export function keyBytes(
  secret: string,
  { algorithm = 'hmac-sha256', key, keyPrefix = '' }: Pick<Signature, 'algorithm' | 'key' | 'keyPrefix'>,
): Bytes | undefined {
  const prefixed = secret.startsWith(keyPrefix);
  if (!prefixed && !algorithm.startsWith('hmac-')) return undefined;
  const text = prefixed ? secret.slice(keyPrefix.length) : secret;
  const bytes = decodeKey(text, key);
  // WebCrypto refuses an empty HMAC key by throwing.
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
}

function decodeKey(text: string, key: 'utf8' | 'base64' | 'hex'): Bytes | undefined {
  if (key === 'utf8') return Uint8Array.from(new TextEncoder().encode(text));
  if (key === 'base64') return fromBase64(text);
  // Adyen shows its key in capitals.
  return /^([0-9a-f]{2})+$/i.test(text) ? fromHex(text) : undefined;
}

/** Puts texts and bytes one behind the other. */
export function join(parts: readonly (string | Uint8Array)[]): Bytes {
  const pieces = parts.map((part) => (typeof part === 'string' ? new TextEncoder().encode(part) : part));
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

export function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  return toHex(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes)));
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
