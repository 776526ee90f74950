import { sampleOf } from '../../cli/samples/samples.ts';
import { type Keys, madeUpKeys, sign } from '../../cli/samples/sign.ts';
import { type Provider, providers } from '../../src/providers/index.ts';
import type { Delivery, Place } from '../../src/providers/types.ts';
import { DeliveryValues } from '../../src/verify/delivery.ts';
import { readSignatures, signaturePlaces, type Verdict, verify } from '../../src/verify/index.ts';
import { textsAt } from '../../src/verify/places.ts';
import { withMark } from '../canaries/canaries.ts';

export const NOW = new Date('2026-03-01T12:00:00Z');
export const URL_TOLD = 'https://hooks.example.com/webhooks/source';

export const names = Object.keys(providers);

export function providerOf(name: string): Provider {
  const provider = providers[name];
  if (!provider) throw new Error(name);
  return provider;
}

export interface Sent extends Delivery {
  readonly headers: Headers;
  readonly text: string;
  readonly keys: Keys;
}

export interface Wanted {
  readonly keys?: Keys;
  readonly now?: Date;
  readonly id?: string;
  readonly type?: string;
  readonly body?: string;
  readonly url?: string;
  /** Beside those of the sample. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A provider's sample, signed with new keys unless the test brings its own. */
export function deliver(name: string, wanted: Wanted = {}): Sent {
  const provider = providerOf(name);
  const sample = sampleOf(provider);
  const {
    keys = madeUpKeys(provider),
    now = NOW,
    id = sample.id(),
    type = sample.types[0],
    body = provider.form ? undefined : withMark(JSON.stringify(sample.body(id, type, now))),
    url = URL_TOLD,
    headers = {},
  } = wanted;
  const signed = sign(provider, keys.signingKey, { id, type, now, body, url, headers });
  const address = new URL(url);
  for (const [key, value] of Object.entries(signed.query)) address.searchParams.set(key, value);
  return {
    method: 'POST',
    url: address.href,
    headers: new Headers(signed.headers),
    body: new TextEncoder().encode(signed.body),
    text: signed.body,
    keys,
  };
}

export function check(name: string, sent: Sent, secrets: string[] = [sent.keys.secret], now = NOW) {
  return verdictOn(providerOf(name), sent, secrets, now);
}

/** Verifies a delivery as the receiver does. */
export function verdictOn(
  provider: Provider,
  delivery: Delivery,
  secrets: readonly string[],
  now: Date,
): Promise<Verdict> {
  const values = delivery instanceof DeliveryValues ? delivery : new DeliveryValues(delivery);
  return verify(provider, values, readSignatures(provider, values), secrets, now);
}

export function withBody(sent: Sent, text: string): Sent {
  return { ...sent, text, body: new TextEncoder().encode(text) };
}

export function withHeaders(sent: Sent, more: Readonly<Record<string, string>>): Sent {
  const headers = new Headers(sent.headers);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return { ...sent, headers };
}

/** The value at a place, and a function that makes the same delivery with another value there. */
export interface Spot {
  readonly place: Place;
  readonly value: string;
  readonly put: (value: string) => Sent;
}

/** The places of the signature or token. */
export function signatureSpots(name: string, sent: Sent): Spot[] {
  return [signaturePlaces(providerOf(name).scheme)].flat().flatMap((place) => spotAt(place, name, sent));
}

/** The places that the signed text names, without the body as a whole. */
export function signedSpots(name: string, sent: Sent): Spot[] {
  const { scheme } = providerOf(name);
  if (scheme.token !== undefined || (scheme.check !== undefined && scheme.kind === 'jose')) return [];
  const template =
    scheme.check !== undefined
      ? (scheme.signed[0]?.text ?? '')
      : typeof scheme.signed === 'string'
        ? scheme.signed
        : (CUSTOM_TEXTS[name] ?? '');
  const places = Array.from(template.matchAll(/\{((?:header|json)\??:[^}]+)\}/g), ([, place = '']) => place);
  return places.flatMap((place) => spotAt(place.replace('?', '') as Place, name, sent));
}

/** What the custom signed texts contain besides the body: the headers that the samples list. */
const CUSTOM_TEXTS: Record<string, string> = {
  contentful: '{header:x-contentful-timestamp}{header:x-contentful-topic}',
  'coinbase-cdp': '{header:x-hook0-signature#t}{header:content-type}{header:x-event-id}',
};

function spotAt(place: Place, name: string, sent: Sent): Spot[] {
  const [kind, rest = ''] = [place.slice(0, place.indexOf(':')), place.slice(place.indexOf(':') + 1)];
  if (kind === 'json') return spotsInBody(place, sent);
  if (kind === 'body') return [{ place, value: sent.text, put: (text) => withBody(sent, text) }];
  const [value] = textsAt(place, sent);
  if (value === undefined) return [];
  if (kind === 'query') {
    const put = (changed: string) => {
      const url = new URL(sent.url);
      url.searchParams.set(rest, changed);
      return { ...sent, url: url.href };
    };
    return [{ place, value, put }];
  }
  const [header = ''] = rest.split('#');
  const text = sent.headers.get(header) ?? '';
  if (!text.includes(value)) throw new Error(`${name} has nothing at ${place}`);
  const put = (changed: string) => withHeaders(sent, { [header]: text.replace(value, () => changed) });
  return [{ place, value, put }];
}

/** A value in the sample's JSON, found by the last key of its path. */
function spotsInBody(place: Place, sent: Sent): Spot[] {
  const key = place.split(/[.:]/).at(-1);
  const found = new RegExp(`"${key}":"?([^",{}]+)`).exec(sent.text);
  if (!found) return [];
  const [whole, value = ''] = found;
  const put = (changed: string) =>
    withBody(
      sent,
      sent.text.replace(whole, () => whole.replace(value, () => changed)),
    );
  return [{ place, value, put }];
}

/** Whether every byte of the body is signed. Tokens cover nothing, Mailgun signs its token, and Adyen some fields. */
export function coversBody(name: string): boolean {
  const { scheme } = providerOf(name);
  if (scheme.check !== undefined) {
    if (scheme.kind === 'certificate') return scheme.signed.some(({ text }) => text.includes('{crc32}'));
    // Around a token in a field, anything may be written.
    return (scheme.isEvent === true && scheme.signature.startsWith('body:')) || scheme.bodyHash !== undefined;
  }
  return scheme.token === undefined && (typeof scheme.signed !== 'string' || scheme.signed.includes('{body}'));
}
