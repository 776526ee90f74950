import { fillBytes, type Sight, valueAt, valuesAt } from './places.ts';
import type { Provider, Scheme } from './types.ts';

export interface Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export type Verdict = { outcome: 'verified' } | { outcome: 'refused'; reason: Reason };

/** For the log. The sender learns none of it: every refusal is the same 401. */
export type Reason =
  | 'no secret'
  | 'secret malformed'
  | 'signature missing'
  | 'signature malformed'
  | 'too many signatures'
  | 'signature mismatch'
  | 'signed header missing'
  | 'timestamp malformed'
  | 'timestamp outside the window';

/** Each candidate costs a hash of the body, so a header full of them would be an amplifier. A rotation needs two or three. */
const MAX_CANDIDATES = 10;

/** Never throws: whatever a stranger sends is at worst refused. */
export async function verify(
  provider: Provider,
  delivery: Delivery,
  secrets: readonly string[],
  now: Date,
): Promise<Verdict> {
  const { scheme } = provider;
  const sight: Sight = { headers: delivery.headers, body: delivery.body };

  const usable = secrets.filter((secret) => secret !== '');
  if (usable.length === 0) return refused('no secret');
  const keys = usable.map((secret) => keyBytes(secret, scheme)).filter((key) => key !== undefined);
  if (keys.length === 0) return refused('secret malformed');

  const candidates = valuesAt(scheme.signature, sight);
  if (candidates.length === 0) return refused('signature missing');
  if (candidates.length > MAX_CANDIDATES) return refused('too many signatures');
  const signatures = candidates.map((text) => decode(text, scheme.encoding)).filter((bytes) => bytes !== undefined);
  if (signatures.length === 0) return refused('signature malformed');

  const signed = fillBytes(scheme.signed, sight);
  if (signed === undefined) return refused('signed header missing');
  if (!(await anyMatches(keys, signatures, signed))) return refused('signature mismatch');
  return scheme.timestamp === undefined ? { outcome: 'verified' } : judgeTime(scheme.timestamp, sight, now);
}

async function anyMatches(keys: Bytes[], signatures: Bytes[], signed: Bytes): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
    for (const signature of signatures) {
      // WebCrypto compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return true;
    }
  }
  return false;
}

/** Judged after the signature, so that the reason in the log is never about a time that a stranger wrote. */
function judgeTime(timestamp: NonNullable<Scheme['timestamp']>, sight: Sight, now: Date): Verdict {
  const text = valueAt(timestamp.at, sight);
  // The text as it stood was signed; re-formatting it ("123abc" to 123) would judge another time than the signed one.
  if (text === undefined || !/^\d{1,15}$/.test(text)) return refused('timestamp malformed');
  const seconds = Number(text) / (timestamp.unit === 'ms' ? 1000 : 1);
  const age = Math.abs(Math.floor(now.getTime() / 1000) - Math.floor(seconds));
  return age <= timestamp.windowSeconds ? { outcome: 'verified' } : refused('timestamp outside the window');
}

type Bytes = Uint8Array<ArrayBuffer>;

export function keyBytes(secret: string, { key, keyPrefix = '' }: Scheme): Bytes | undefined {
  const text = secret.startsWith(keyPrefix) ? secret.slice(keyPrefix.length) : secret;
  const bytes = key === 'utf8' ? Uint8Array.from(new TextEncoder().encode(text)) : fromBase64(text);
  // WebCrypto refuses an empty HMAC key by throwing.
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
}

/** Strict in both encodings: a signature has one spelling, so a changed byte is always a refusal. */
function decode(text: string, encoding: Scheme['encoding']): Bytes | undefined {
  if (encoding === 'base64') {
    const bytes = fromBase64(text);
    return bytes !== undefined && btoa(String.fromCharCode(...bytes)) === text ? bytes : undefined;
  }
  if (!/^([0-9a-f]{2}){1,64}$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function refused(reason: Reason): Verdict {
  return { outcome: 'refused', reason };
}
