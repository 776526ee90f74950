import type { CertificateScheme, ToCheck } from '../providers/types.ts';
import { type Bytes, fromBase64 } from '../shared/bytes.ts';
import { MAX_SECRETS, memoize } from '../shared/memoize.ts';
import type { DeliveryValues } from './delivery.ts';
import { judgeTime, type Refusal, refused, type Verdict } from './index.ts';
import { KeyCache, type KeysUnavailable } from './key-cache.ts';
import { asList, fillBytes, meets, textAt } from './places.ts';
import { filled, holds, type Settings, settingsOf } from './settings.ts';
import { type Certificate, isValidAt, readPem } from './x509.ts';

/**
 * A scheme whose signatures are verified with the key of a certificate. Only provider files import this, so only
 * bundles with such a provider contain it. The certificate is trusted because it comes from the provider's own host
 * over TLS.
 *
 * @example
 * const scheme = certified({
 *   signature: 'header:x-shop-signature',
 *   certificate: 'header:x-shop-certificate',
 *   from: ['https://api.shop.example.com/certificates/*'],
 *   signed: [{ text: '{header:x-shop-time}.{body}' }],
 * });
 */
export function certified(data: Omit<CertificateScheme, 'kind' | 'check'>): CertificateScheme {
  return { kind: 'certificate', ...data, check: (scheme, toCheck) => check(scheme as CertificateScheme, toCheck) };
}

async function check(scheme: CertificateScheme, { delivery, candidates, secrets, now }: ToCheck): Promise<Verdict> {
  const [text, ...more] = candidates;
  if (text === undefined) return refused('signature missing');
  const signature = more.length === 0 ? decodeSignature(text) : undefined;
  if (signature === undefined) return refused('signature malformed');

  let verdict: Verdict = refused('secret malformed');
  for (const [secretIndex, secret] of secrets.entries()) {
    const settings = settingsOf(scheme, secret);
    if (settings === undefined) continue;
    const found = await verifyWith(scheme, settings, signature, delivery, now);
    if (found === undefined) return { outcome: 'verified', secretIndex };
    verdict = found;
    // The time is checked last, so this secret did match. If keys are unavailable, the other secret can't be checked
    // either.
    if (found.outcome === 'keys_unavailable' || found.reason.startsWith('timestamp')) return found;
  }
  return verdict;
}

/**
 * Returns `undefined` if the delivery is valid. Claims are checked before the certificate is fetched, so that a
 * delivery for somebody else causes no request.
 */
async function verifyWith(
  scheme: CertificateScheme,
  settings: Settings,
  signature: Bytes,
  delivery: DeliveryValues,
  now: Date,
): Promise<Exclude<Verdict, { outcome: 'verified' }> | undefined> {
  const wrong = scheme.claims?.find((claim) => !holds(claim, settings, delivery));
  if (wrong) return refused('wrong claim', { claim: asList(wrong.at).join(' or ') });
  const url = textAt(scheme.certificate, delivery);
  if (url === undefined || !scheme.from.some((pattern) => isFrom(filled(pattern, settings), url))) {
    return refused('wrong claim', { claim: scheme.certificate });
  }
  const text = scheme.signed.find(({ when = [] }) => meets(when, delivery))?.text;
  if (text?.includes('{crc32}')) delivery.crc32 = String(crc32(delivery.body));
  const signed = text === undefined ? undefined : fillBytes(filled(text, settings), delivery);
  if (signed === undefined) return refused('signed header missing', { missing: missingIn(text ?? '', delivery) });

  const key = await keyAt(url, settings, now);
  if ('outcome' in key) return key;
  if (!isValidAt(key, now)) return refused('certificate not valid');
  if (!(await crypto.subtle.verify('RSASSA-PKCS1-v1_5', key.key, signature, signed)))
    return refused('signature mismatch');
  return scheme.timestamp && judgeTime(scheme.timestamp, delivery, now);
}

function missingIn(text: string, delivery: DeliveryValues): string {
  const places = Array.from(text.matchAll(/\{(\w+:[^}]+)\}/g), ([, place]) => place as `json:${string}`);
  return places.filter((place) => textAt(place, delivery) === undefined).join(', ');
}

/** Compares host and path as one text, so that no user name, port or dot can lead to another host. */
function isFrom(pattern: string, url: string): boolean {
  const [before = '', after = ''] = pattern.split('*');
  const name = url.slice(before.length, url.length - after.length);
  return url === before + name + after && /^[\w-]{1,100}$/.test(name);
}

/** An RSA-2048 signature has 344 base64 characters. */
const MAX_SIGNATURE = 1024;

function decodeSignature(text: string): Bytes | undefined {
  const bytes = text.length <= MAX_SIGNATURE ? fromBase64(text) : undefined;
  return bytes !== undefined && btoa(String.fromCharCode(...bytes)) === text ? bytes : undefined;
}

interface CertificateKey extends Pick<Certificate, 'notBefore' | 'notAfter'> {
  readonly key: CryptoKey;
}

const certificates = new KeyCache(async (text): Promise<CertificateKey | undefined> => {
  const certificate = readPem(text);
  const key = certificate && (await importKey(certificate.publicKey));
  return key && { key, notBefore: certificate.notBefore, notAfter: certificate.notAfter };
});

async function keyAt(
  url: string,
  { publicKey }: Settings,
  now: Date,
): Promise<CertificateKey | KeysUnavailable | Refusal> {
  if (publicKey !== undefined) return (await configuredKey(publicKey)) ?? refused('secret malformed');
  const found = await certificates.get(url, now);
  if (found.outcome === 'found') return found.value;
  return found.outcome === 'absent' ? refused('signature mismatch') : found;
}

const configuredKey = memoize(async (spki: string): Promise<CertificateKey | undefined> => {
  const bytes = fromBase64(spki);
  const key = bytes && (await importKey(bytes));
  return key && { key, notBefore: new Date(0), notAfter: new Date(8.64e15) };
}, MAX_SECRETS);

async function importKey(spki: Bytes): Promise<CryptoKey | undefined> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  return crypto.subtle.importKey('spki', spki, algorithm, false, ['verify']).catch(() => undefined);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** ISO 3309, as in zip files. It detects accidental changes, not attacks. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
