import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import type { Jose } from '../../src/providers/types.ts';
import type { DeliveryValues } from '../../src/verify/delivery.ts';
import { textAt } from '../../src/verify/places.ts';
import { filled, type Settings, settingsOf } from '../../src/verify/settings.ts';
import { UserError } from '../lib/user-error.ts';

/** Words that are sent around a body, and the body itself. */
export interface SignedToken {
  readonly signature: string;
  readonly body: string;
}

/** The token of a delivery. Its key is the source's secret, with a private key in place of the public one. */
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

/** What the receiver reads after it has verified a token: of one that we have made ourselves. */
export function openOwnToken(scheme: Jose, delivery: DeliveryValues): void {
  if (scheme.signature.startsWith('json:')) delivery.parse();
  const payload = Buffer.from((textAt(scheme.signature, delivery) ?? '').split('.')[1] ?? '', 'base64url');
  delivery.claims = JSON.parse(payload.toString());
  if (scheme.isEvent) delivery.replaceBody(payload);
}

function claimsOf({ claims = [], bodyHash, timestamp }: Jose, settings: Settings, text: string, now: Date): object {
  const seconds = Math.floor(now.getTime() / 1000);
  const entries = claims.map(({ at, is }): [string, unknown] => {
    const value = is === undefined ? 'sample' : filled(is, settings);
    return [nameOf(at), at === 'jws:exp' ? seconds + 3600 : value === 'true' ? true : value];
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

/** Each setting of a provider fits one of these. */
const SAMPLE_WORDS = [
  'production',
  'sample@project.iam.gserviceaccount.com',
  'https://sample.example.com',
  '0123456789abcdef01234567',
];

/** A secret of made-up words. Behind them is the public key; in the signing key, it is the private one. */
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
