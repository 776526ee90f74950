import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { CertificateScheme, Jose } from '../../src/providers/types.ts';
import { parseJson } from '../../src/shared/json.ts';
import { DeliveryValues } from '../../src/verify/delivery.ts';
import { fillBytes, meets, textAt } from '../../src/verify/places.ts';
import { filled, type Settings, settingsOf } from '../../src/verify/settings.ts';
import { UserError } from '../lib/user-error.ts';

/** A token, and the body that is sent with it. */
export interface SignedToken {
  readonly signature: string;
  readonly body: string;
}

/** Makes the token of a delivery. The key is the source's secret with a private key instead of the public one. */
export function signJose(scheme: Jose, key: string, text: string, now: Date): SignedToken {
  const settings = settingsOf(scheme, key);
  if (!settings) throw new UserError(`the key is not in the form that the provider uses: ${formOf(scheme)}`);
  const payload = scheme.isEvent ? text : JSON.stringify(claimsOf(scheme, settings, text, now));
  const header = { alg: scheme.algorithm, kid: 'sample', typ: 'JWT' };
  const signed = `${base64url(JSON.stringify(header))}.${base64url(payload)}`;
  const token = `${signed}.${signatureOf(scheme, settings, signed).toString('base64url')}`;
  const [, field] = /^json:(.+)$/.exec(scheme.signature) ?? [];
  const body = !scheme.isEvent ? text : field === undefined ? token : JSON.stringify({ [field]: token });
  return { signature: (scheme.prefix ?? '') + token, body };
}

function signatureOf({ algorithm }: Jose, { secret, publicKey = '' }: Settings, signed: string): Buffer {
  if (algorithm === 'HS256') return createHmac('sha256', secret).update(signed).digest();
  const key = { key: Buffer.from(publicKey, 'base64'), type: 'pkcs8', format: 'der' } as const;
  return sign('sha256', Buffer.from(signed), { ...key, dsaEncoding: 'ieee-p1363' });
}

/** Adds the certificate's URL and the signature to a delivery's headers or JSON. */
export function signWithCertificate(
  scheme: CertificateScheme,
  key: string,
  {
    text,
    headers,
    now,
  }: { readonly text: string; readonly headers: Readonly<Record<string, string>>; readonly now: Date },
): { readonly headers: Record<string, string>; readonly body: string } {
  const settings = settingsOf(scheme, key);
  if (!settings) throw new UserError(`the key is not in the form that the provider uses: ${formOf(scheme)}`);
  const delivery = { method: 'POST', url: 'https://example.com/', headers: new Headers(headers) };
  const isInside = scheme.signature.startsWith('json:');
  const parsed = parseJson(text);
  const json = parsed.outcome === 'parsed' ? parsed.json : undefined;
  if (isInside && (typeof json !== 'object' || json === null)) {
    throw new UserError('the signature of this provider is inside the body, so the body must be a JSON object');
  }
  const put = (place: string, value: string) => {
    const [kind = '', name = ''] = place.split(':');
    if (kind === 'header') delivery.headers.set(name, value);
    else Reflect.set(Object(json), name, value);
  };
  put(scheme.certificate, filled(scheme.from[0] ?? '', settings).replace('*', 'sample'));
  for (const { at, is } of scheme.claims ?? []) if (is !== undefined) put([at].flat()[0] ?? '', filled(is, settings));
  const values = new DeliveryValues({ ...delivery, body: new TextEncoder().encode(text) });
  if (isInside) values.json = json;
  const { timestamp } = scheme;
  if (timestamp && textAt(timestamp.at, values) === undefined) put(timestamp.at, now.toISOString());
  values.crc32 = String(crc32(values.body));
  const template = scheme.signed.find(({ when = [] }) => meets(when, values))?.text;
  const signed = template === undefined ? undefined : fillBytes(filled(template, settings), values);
  if (!signed) throw new UserError('the delivery lacks a value that its provider signs');
  const privateKey = { key: Buffer.from(settings.publicKey ?? '', 'base64'), type: 'pkcs8', format: 'der' } as const;
  put(scheme.signature, sign('sha256', signed, privateKey).toString('base64'));
  return {
    headers: Object.fromEntries(delivery.headers),
    body: isInside ? JSON.stringify(json) + (/\s*$/.exec(text)?.[0] ?? '') : text,
  };
}

/** Opens a token that we have made ourselves, as the receiver does after verification. */
export function openOwnToken(scheme: Jose | CertificateScheme, delivery: DeliveryValues): void {
  if (scheme.kind !== 'jose') return;
  if (scheme.signature.startsWith('json:')) delivery.parse();
  const payload = Buffer.from((textAt(scheme.signature, delivery) ?? '').split('.')[1] ?? '', 'base64url');
  delivery.claims = JSON.parse(payload.toString());
  if (scheme.isEvent) delivery.replaceBody(payload);
}

function claimsOf({ claims = [], bodyHash, timestamp }: Jose, settings: Settings, text: string, now: Date): object {
  const seconds = Math.floor(now.getTime() / 1000);
  const entries = claims.map(({ at, is }): [string, unknown] => {
    const value = is === undefined ? 'sample' : filled(is, settings);
    return [nameOf([at].flat()[0] ?? ''), at === 'jws:exp' ? seconds + 3600 : value === 'true' ? true : value];
  });
  if (bodyHash) entries.push([nameOf(bodyHash), createHash('sha256').update(text).digest('hex')]);
  if (timestamp) entries.push([nameOf(timestamp.at), seconds]);
  return Object.fromEntries(entries);
}

function nameOf(place: string): string {
  return place.slice('jws:'.length);
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Each provider's setting matches one of these. */
const SAMPLE_WORDS = [
  'com.example.app',
  'Sandbox',
  'arn:aws:sns:us-east-1:123456789012:sample',
  '9XL90610J3647323C',
  'api.sandbox.paypal.com',
  'production',
  'sample@project.iam.gserviceaccount.com',
  'https://sample.example.com',
  '0123456789abcdef01234567',
];

/** A secret of made-up words, followed by the public key. The signing key has the private key instead. */
export function madeUpSettings({ settings = {} }: Pick<Jose, 'settings'>, kind: 'rsa' | 'ec') {
  const { publicKey, privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const words = Object.values(settings).map((like) => SAMPLE_WORDS.find((word) => like.test(word)) ?? 'sample');
  const withKey = (key: Buffer) => [...words, `key:${key.toString('base64')}`].join(' ');
  return {
    secret: withKey(publicKey.export({ type: 'spki', format: 'der' })),
    signingKey: withKey(privateKey.export({ type: 'pkcs8', format: 'der' })),
  };
}

export function formOf({ settings = {} }: Pick<Jose, 'settings'>): string {
  return Object.keys(settings)
    .map((name) => `<${name}>`)
    .join(' ');
}
