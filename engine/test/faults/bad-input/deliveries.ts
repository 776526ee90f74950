import type { OutgoingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { UserError } from '../../../cli/lib/user-error.ts';
import { sampleOf } from '../../../cli/samples/samples.ts';
import { madeUpKeys, sign } from '../../../cli/samples/sign.ts';
import type { Provider } from '../../../src/providers/index.ts';
import { headersNamed } from '../../../src/verify/places.ts';
import { sources } from './sources.ts';
import { brokenJson, headerValue, json } from './values.ts';

/** One request, as its bytes are sent. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array;
}

/** A delivery before it is signed: its signature must be of the moment in which it is sent. */
export interface HostileDelivery {
  readonly kind: 'delivery';
  readonly source: string;
  readonly method: string;
  /** The body as text, or changes of the provider's own sample: the value at the n-th place becomes this JSON. */
  readonly body: string | readonly { readonly place: number; readonly json: string }[];
  /** Headers that are added, or that replace those of the sample. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Bits that are flipped after it was signed. */
  readonly flipped: readonly number[];
}

const sourceNames = Object.keys(sources);

/** Headers that mean something to some provider, and some that mean something to HTTP. */
const HEADERS = [
  ...new Set(
    Object.values(sources).flatMap(({ provider }) => [
      ...Object.keys(sampleOf(provider).headers),
      ...headersNamed([provider.id.at, provider.type].flat()),
    ]),
  ),
  'content-type',
  'content-encoding',
  'traceparent',
  'origin',
  'cookie',
  'x-forwarded-host',
];

const TYPES = ['application/json', 'application/x-www-form-urlencoded', 'text/plain; charset=utf-16'];

export const delivery: fc.Arbitrary<HostileDelivery> = fc.record({
  kind: fc.constant('delivery'),
  source: fc.constantFrom(...sourceNames),
  method: fc.oneof(
    { weight: 20, arbitrary: fc.constant('POST') },
    fc.constantFrom('GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  ),
  body: fc.oneof(
    { weight: 4, arbitrary: fc.array(fc.record({ place: fc.nat(200), json }), { minLength: 1, maxLength: 3 }) },
    json,
    brokenJson,
    fc.array(fc.tuple(fc.string(), fc.string())).map((fields) => fields.map((field) => field.join('=')).join('&')),
  ),
  headers: fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    fc.dictionary(fc.constantFrom(...HEADERS), fc.oneof(headerValue, fc.constantFrom(...TYPES)), { maxKeys: 3 }),
  ),
  query: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 })),
  flipped: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(fc.nat(2000), { maxLength: 2 })),
});

/** The delivery as it is sent now. The keys of a source `…-unknown` are made up: the receiver has others. */
export function signed(hostile: HostileDelivery, signingKey: (source: string) => string): Sent {
  const { source, method, headers, query, flipped } = hostile;
  const { provider, url } = sources[source] ?? {};
  if (provider === undefined) throw new Error(source);
  const key = source.endsWith('-unknown') ? madeUpKeys(provider).signingKey : signingKey(source);
  const path = `/webhooks/${source}`;
  const search = new URLSearchParams(query);
  // A proxy stands before these sources, and it adds the query to the address that the provider knows.
  const address = `${url ?? `http://127.0.0.1${path}`}${search.size > 0 && !url ? `?${search}` : ''}`;
  const made = signedBy(provider, key, bodyOf(hostile, provider), address);
  for (const [name, value] of Object.entries(made.query)) search.set(name, value);
  const bytes = Buffer.from(made.body);
  for (const bit of flipped) {
    const at = Math.floor(bit / 8) % (bytes.length || 1);
    if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit % 8));
  }
  return {
    method,
    path: search.size > 0 ? `${path}?${search}` : path,
    headers: { host: '127.0.0.1', ...made.headers, ...headers, 'content-length': bytes.length },
    body: bytes,
  };
}

function signedBy(provider: Provider, key: string, body: string, url: string) {
  const sample = sampleOf(provider);
  const toSign = { id: sample.id(), type: sample.types[0], now: new Date(), url };
  try {
    return sign(provider, key, { ...toSign, body });
  } catch (error) {
    // There is no place for the signature inside such a body. It is sent with the headers of the sample.
    if (!(error instanceof UserError)) throw error;
    return { ...sign(provider, key, toSign), body };
  }
}

/** Takes the place of hostile JSON until the rest of the body is a text. No sample holds it. */
const MARKER = 'hostile-value-';

function bodyOf({ body }: HostileDelivery, provider: Provider): string {
  if (typeof body === 'string') return body;
  const sample = sampleOf(provider);
  const made = sample.body(sample.id(), sample.types[0], new Date());
  const changed = body.reduce(
    (value: unknown, { place }, n) => replaceAt(value, place % (placesIn(value) || 1), `${MARKER}${n}`),
    made,
  );
  const written = provider.form
    ? new URLSearchParams(Object.entries(Object(changed)).map(([name, value]) => [name, String(value)])).toString()
    : JSON.stringify(changed);
  const quote = provider.form ? '' : '"';
  return body.reduce((text, { json }, n) => text.replace(`${quote}${MARKER}${n}${quote}`, () => json), written);
}

/** How many values there are in a value, itself included. */
function placesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, part) => sum + placesIn(part), 1);
}

/** A copy with another value at the n-th place. The last place is the whole. */
function replaceAt(value: unknown, place: number, marker: string): unknown {
  if (typeof value !== 'object' || value === null) return marker;
  let before = 0;
  for (const [key, part] of Object.entries(value)) {
    const count = placesIn(part);
    if (place < before + count) {
      const replaced = replaceAt(part, place - before, marker);
      return Array.isArray(value) ? value.with(Number(key), replaced) : { ...value, [key]: replaced };
    }
    before += count;
  }
  return marker;
}
