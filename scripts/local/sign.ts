import { createHmac, createPrivateKey, sign as signWithKey } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Signature } from '../../src/providers/types.ts';
import { signedTexts } from '../../src/verify/index.ts';
import { itemsOf } from '../../src/verify/items.ts';
import { keyBytes } from '../../src/verify/keys.ts';
import { hasPair } from './keys.ts';
import { genericSample } from './samples/generic.ts';
import { type Sample, samples } from './samples.ts';
import { UserError } from './user-error.ts';

export interface Signed {
  readonly headers: Record<string, string>;
  readonly body: string;
  /** To be added to the URL. */
  readonly query: Record<string, string>;
}

export interface ToSign {
  readonly id: string;
  readonly type: string;
  readonly now: Date;
  /** Instead of the provider's sample. */
  readonly body?: string | undefined;
  /** The address as the provider knows it, where it is signed. */
  readonly url?: string;
}

export function sampleOf(provider: Provider): Sample {
  return samples[provider.name] ?? genericSample(provider);
}

/** A delivery as the provider would send it: the scheme that verifies, turned round. `key` is what its sender signs with. */
export function sign(provider: Provider, key: string, toSign: ToSign): Signed {
  const { id, type, now, body, url = 'https://example.com/' } = toSign;
  const sample = sampleOf(provider);
  const { scheme } = provider;
  const text = body ?? written(provider, sample.body(id, type, now));
  const timed = scheme.token !== undefined ? undefined : scheme.timestamp;
  const timestamp = Math.floor(now.getTime() / (timed?.unit === 'ms' ? 1 : 1000));
  const fixed = { '{timestamp}': String(timestamp), '{id}': id, '{type}': type, '{token}': tokenOf(provider, key) };
  const type_ = provider.form ? 'application/x-www-form-urlencoded' : 'application/json';
  const headersWith = (signature: string): Record<string, string> => {
    const entries = Object.entries({ 'content-type': type_, ...sample.headers });
    return Object.fromEntries(
      entries.map(([name, value]) => [name, fill(value, { ...fixed, '{signature}': signature })]),
    );
  };
  if (scheme.token !== undefined) {
    const [kind, name = ''] = scheme.token.split(':');
    return { headers: headersWith(''), body: text, query: kind === 'query' ? { [name]: key } : {} };
  }

  // The signatures inside items are placeholders still, and no item signs its own.
  const delivery = { method: 'POST', url, headers: new Headers(headersWith('')), body: new TextEncoder().encode(text) };
  const inside = [scheme.signature].flat().some((place) => place.startsWith('json:'));
  const json = inside ? parsed(text) : undefined;
  const [item] = (scheme.perItem && provider.batch && itemsOf(provider.batch, json)) || [json];
  const [signed] = signedTexts(scheme, inside ? { ...delivery, json: item } : delivery);
  const signature = signed && signatureOf(scheme, key, signed);
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
  const hash = scheme.algorithm === 'hmac-sha1' ? 'sha1' : 'sha256';
  return bytes && createHmac(hash, bytes).update(signed).digest(scheme.encoding);
}

function tokenOf({ scheme }: Provider, key: string): string {
  return scheme.token !== undefined && scheme.basic ? `Basic ${Buffer.from(key).toString('base64')}` : key;
}

function written({ form }: Provider, body: object): string {
  return form ? new URLSearchParams(Object.entries(body)).toString() : JSON.stringify(body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UserError('--body must be JSON here: the signature stands inside it');
  }
}

function fill(text: string, values: Record<string, string>): string {
  return Object.entries(values).reduce((filled, [name, value]) => filled.replace(name, () => value), text);
}
