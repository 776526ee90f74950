import { createHmac, createPrivateKey, generateKeyPairSync, randomBytes, sign as signWithKey } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Scheme, Signature, Token } from '../../src/providers/types.ts';
import { keyBytes } from '../../src/verify/algorithms.ts';
import { signedTexts } from '../../src/verify/index.ts';
import { itemsOf } from '../../src/verify/items.ts';
import { UserError } from '../lib/user-error.ts';
import { partsOf, sampleOf } from './samples.ts';
import { madeUpSettings, signJose, signWithCertificate } from './sign-jose.ts';

export interface Signed {
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Parameters to add to the URL. */
  readonly query: Record<string, string>;
}

export interface ToSign {
  readonly id: string;
  readonly type: string;
  readonly now: Date;
  /** Default: the body of the provider's sample. */
  readonly body?: string | undefined;
  /** The URL as configured at the provider. Some providers sign it. */
  readonly url?: string;
  /** Headers in addition to the sample's. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signs a delivery with the same provider data that verifies it. `key` is the signing key. */
export function sign(provider: Provider, key: string, toSign: ToSign): Signed {
  const { id, type, now, body, url = 'https://example.com/', headers = {} } = toSign;
  const sample = sampleOf(provider);
  const { scheme } = provider;
  const text = body ?? encodeBody(provider, sample.body(id, type, now));
  const timed = scheme.token !== undefined ? undefined : scheme.timestamp;
  const unixTime = Math.floor(now.getTime() / (timed?.unit === 'ms' ? 1 : 1000));
  const timestamp = timed?.unit === 'iso' ? now.toISOString() : String(unixTime);
  const fixed = { '{timestamp}': timestamp, '{id}': id, '{type}': type, '{token}': tokenOf(provider, key) };
  const contentType = provider.form ? 'application/x-www-form-urlencoded' : 'application/json';
  const given: Record<string, string> = { 'content-type': contentType, ...sample.headers };
  for (const [place, value] of partsOf(provider, type)) {
    if (place.startsWith('header:')) given[place.slice('header:'.length)] = value;
  }
  const headersWith = (signature: string): Record<string, string> => {
    const entries = Object.entries({ ...given, ...headers });
    return Object.fromEntries(
      entries.map(([name, value]) => [name, fill(value, { ...fixed, '{signature}': signature })]),
    );
  };
  if (scheme.token !== undefined) {
    const [kind, name = ''] = scheme.token.split(':');
    const withToken = kind === 'json' ? text.replaceAll('{token}', () => key) : text;
    return { headers: headersWith(''), body: withToken, query: kind === 'query' ? { [name]: key } : {} };
  }

  if (scheme.check !== undefined && scheme.kind === 'certificate') {
    return { ...signWithCertificate(scheme, key, { text, headers: headersWith(''), now }), query: {} };
  }
  if (scheme.check !== undefined) {
    const { signature, body } = signJose(scheme, key, text, now);
    const sent = scheme.isEvent && scheme.signature.startsWith('body:') ? { 'content-type': 'application/jwt' } : {};
    return { headers: { ...headersWith(signature), ...sent }, body, query: {} };
  }

  // A signature inside the body is still the placeholder `{signature}` here. It is never part of the signed text.
  const delivery = { method: 'POST', url, headers: new Headers(headersWith('')), body: new TextEncoder().encode(text) };
  const inside = [scheme.signature].flat().some((place) => place.startsWith('json:'));
  const json = inside ? parseBody(text) : undefined;
  const [item] = (scheme.perItem && provider.batch && itemsOf(provider.batch, json)) || [json];
  const [signed] = signedTexts(scheme, inside ? { ...delivery, json: item } : delivery);
  if (!signed) {
    throw new UserError(
      `${provider.name} signs a header or value that the sample delivery lacks: compare the provider's signed with the sample`,
    );
  }
  const signature = signatureOf(scheme, key, signed);
  if (!signature) throw new UserError(`the key of ${provider.name} is not in the form that the provider uses`);
  return { headers: headersWith(signature), body: inside ? fill(text, { '{signature}': signature }) : text, query: {} };
}

function signatureOf(scheme: Signature, key: string, signed: Uint8Array): string | undefined {
  if (hasPair(scheme)) {
    const privateKey = createPrivateKey({ key: Buffer.from(key, 'base64'), type: 'pkcs8', format: 'der' });
    const hash = scheme.algorithm === 'ed25519' ? null : 'sha256';
    return signWithKey(hash, signed, privateKey).toString(scheme.encoding);
  }
  const bytes = keyBytes(key, scheme);
  const { algorithm = 'hmac-sha256' } = scheme;
  return bytes && createHmac(algorithm.replace('hmac-', ''), bytes).update(signed).digest(scheme.encoding);
}

function tokenOf({ scheme }: Provider, key: string): string {
  return scheme.token !== undefined && scheme.basic ? `Basic ${Buffer.from(key).toString('base64')}` : key;
}

export function encodeBody({ form }: Provider, body: object): string {
  return form ? new URLSearchParams(Object.entries(body)).toString() : JSON.stringify(body);
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UserError('--body must be JSON, because this provider puts the signature inside it');
  }
}

function fill(text: string, values: Record<string, string>): string {
  return Object.entries(values).reduce((filled, [name, value]) => filled.replace(name, () => value), text);
}

export interface Keys {
  /** The secret that the provider shows to its users, for the receiver's configuration. */
  readonly secret: string;
  /** The key that the provider signs with. Equals the secret unless the secret is a public key. */
  readonly signingKey: string;
}

/** Random keys in the provider's format. */
export function madeUpKeys({ scheme, secretPrefix = '' }: Provider): Keys {
  if (scheme.token !== undefined) return same(scheme.basic ? `sample:${random('hex')}` : random('hex'));
  if (scheme.check !== undefined) {
    if (scheme.kind === 'jose' && scheme.algorithm === 'HS256') return same(random('hex'));
    return madeUpSettings(scheme, scheme.kind === 'jose' && scheme.algorithm === 'ES256' ? 'ec' : 'rsa');
  }
  if (hasPair(scheme)) return madeUpPair(scheme);
  return same(`${secretPrefix}${scheme.keyPrefix ?? ''}${random(scheme.key === 'base64' ? 'base64' : 'hex')}`);
}

/** Whether the scheme has a key pair. A receiver then has only the public key, which can't sign a sample. */
export function hasPair(scheme: Exclude<Scheme, Token>): boolean {
  if (scheme.check !== undefined) return scheme.kind !== 'jose' || scheme.algorithm !== 'HS256';
  return scheme.algorithm === 'ed25519' || scheme.algorithm === 'ecdsa-p256-der';
}

function madeUpPair({ algorithm, key, keyPrefix = '' }: Signature): Keys {
  const { publicKey, privateKey } =
    algorithm === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  // Providers show only the last 32 bytes of an Ed25519 key, without the SPKI header (RFC 8410, section 4).
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
