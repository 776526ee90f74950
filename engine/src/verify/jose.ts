import { compactVerify, createLocalJWKSet, importSPKI, type JWK } from 'jose';
import type { Jose, Place, ToCheck } from '../providers/types.ts';
import { type Bytes, fromBase64Url, sha256, toBase64Url } from '../shared/bytes.ts';
import { decodeText, parseJson } from '../shared/json.ts';
import { MAX_SECRETS, memoize } from '../shared/memoize.ts';
import type { DeliveryValues } from './delivery.ts';
import { judgeTime, type Refusal, refused, type Verdict } from './index.ts';
import { KeyCache, type KeysUnavailable } from './key-cache.ts';
import { asList, jsonAt, textAt } from './places.ts';
import { filled, holds, type Settings, settingsOf } from './settings.ts';

/**
 * A scheme with JSON Web Signatures. Only provider files import this, so only bundles with such a provider contain it.
 *
 * @example
 * const scheme = jose({
 *   signature: 'header:x-shop-token',
 *   algorithm: 'HS256',
 *   keys: { secret: true },
 *   bodyHash: 'jws:sha256',
 * });
 */
export function jose(data: Omit<Jose, 'kind' | 'check'>): Jose {
  return { kind: 'jose', ...data, check: (scheme, toCheck) => check(scheme as Jose, toCheck) };
}

/** The limit for a token in a header. A token that is the event itself may be as long as the body. */
const MAX_TOKEN = 8192;

async function check(scheme: Jose, { delivery, candidates, secrets, now }: ToCheck): Promise<Verdict> {
  const [text, ...more] = candidates;
  if (text === undefined) return refused('signature missing');
  const token = more.length === 0 ? openToken(scheme, text) : undefined;
  if (token === undefined) return refused('signature malformed');

  let verdict: Verdict = refused('secret malformed');
  for (const [secretIndex, secret] of secrets.entries()) {
    const settings = settingsOf(scheme, secret);
    if (settings === undefined) continue;
    const found = await verifyWith(scheme, settings, token, delivery, now);
    if (found === undefined) {
      delivery.claims = token.claims;
      if (scheme.isEvent) delivery.replaceBody(token.payload);
      return { outcome: 'verified', secretIndex };
    }
    verdict = found;
    // The time is checked last, so this secret did match. If keys are unavailable, the other secret can't be checked
    // either.
    if (found.outcome === 'keys_unavailable' || found.reason.startsWith('timestamp')) return found;
  }
  return verdict;
}

interface Token {
  readonly compact: string;
  readonly header: { readonly alg: string; readonly kid?: string };
  readonly x5c: unknown;
  readonly payload: Bytes;
  /** Untrusted until the signature is verified. */
  readonly claims: unknown;
}

/** Returns `undefined` if the text is not a token of this scheme. No key is fetched for such a text. */
function openToken({ prefix = '', algorithm, isEvent }: Jose, text: string): Token | undefined {
  if (!text.startsWith(prefix) || (!isEvent && text.length > MAX_TOKEN)) return undefined;
  const compact = text.slice(prefix.length);
  const parts = compact.split('.').map(decodePart);
  const [head, payload, signature] = parts;
  if (parts.length !== 3 || head === undefined || payload === undefined || signature === undefined) return undefined;
  const header = jsonOf(head);
  // The sender can't choose the algorithm. Any other one, including `none`, is refused here.
  if (jsonAt('alg', header) !== algorithm) return undefined;
  const kid = jsonAt('kid', header);
  if (kid !== undefined && (typeof kid !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(kid))) return undefined;
  const claims = jsonOf(payload);
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return undefined;
  return {
    compact,
    header: { alg: algorithm, ...(kid === undefined ? {} : { kid }) },
    x5c: jsonAt('x5c', header),
    payload,
    claims,
  };
}

/**
 * Decodes strictly, so that each token has exactly one encoding. Only the last characters can hold bits that decoding
 * drops.
 */
function decodePart(text: string): Bytes | undefined {
  const bytes = fromBase64Url(text);
  const loose = text.length % 4;
  return bytes && toBase64Url(bytes.subarray(bytes.length - Math.max(loose - 1, 0))) === text.slice(text.length - loose)
    ? bytes
    : undefined;
}

function jsonOf(bytes: Bytes): unknown {
  const parsed = parseJson(decodeText(bytes) ?? '');
  return parsed.outcome === 'parsed' ? parsed.json : undefined;
}

/**
 * Returns `undefined` if the token is valid. Claims are checked before a key is fetched, so that a token for somebody
 * else causes no request.
 */
async function verifyWith(
  scheme: Jose,
  settings: Settings,
  token: Token,
  delivery: DeliveryValues,
  now: Date,
): Promise<Exclude<Verdict, { outcome: 'verified' }> | undefined> {
  const opened = delivery.itemOf(delivery.json);
  opened.claims = token.claims;
  const wrong = scheme.claims?.find((claim) => !holds(claim, settings, opened));
  if (wrong) return refused('wrong claim', { claim: asList(wrong.at).join(' or ') });
  if (scheme.bodyHash && textAt(scheme.bodyHash, opened) !== (await sha256(delivery.body))) {
    return refused('wrong claim', { claim: scheme.bodyHash });
  }
  const key = await keyFor(scheme, settings, token, now);
  if (key === undefined) return refused('signature mismatch');
  if ('outcome' in key) return key;
  try {
    await compactVerify(token.compact, key, { algorithms: [scheme.algorithm] });
  } catch {
    return refused('signature mismatch');
  }
  return (scheme.timestamp && judgeTime(scheme.timestamp, opened, now)) ?? judgeExpiry(token, now);
}

/** Allows for small differences between clocks. */
const LEEWAY_SECONDS = 60;

/** Checks `exp` and `nbf` (RFC 7519, sections 4.1.4 and 4.1.5). Both are optional. */
function judgeExpiry({ claims }: Token, now: Date): Refusal | undefined {
  const seconds = Math.floor(now.getTime() / 1000);
  for (const [name, sign] of [
    ['exp', 1],
    ['nbf', -1],
  ] as const) {
    const time = jsonAt(name, claims);
    if (time === undefined) continue;
    if (typeof time !== 'number') return refused('timestamp malformed', { missing: `jws:${name}` as Place });
    const secondsOff = seconds - Math.floor(time);
    if (sign * secondsOff > LEEWAY_SECONDS) return refused('timestamp outside the window', { secondsOff });
  }
  return undefined;
}

type Key = CryptoKey | Uint8Array;

/** `undefined` if the sender has no key with this id. */
async function keyFor(
  { keys, algorithm }: Jose,
  settings: Settings,
  { header, x5c }: Token,
  now: Date,
): Promise<Key | KeysUnavailable | Refusal | undefined> {
  if ('secret' in keys) return sharedKey(settings.secret);
  if (settings.publicKey !== undefined) {
    return (await publicKey(algorithm)(settings.publicKey)) ?? refused('secret malformed');
  }
  if ('x5c' in keys) return keys.keyOf(keys.x5c, x5c, now);
  const { kid } = header;
  if ('jwks' in keys) {
    const found = await keySets.get(filled(keys.jwks, settings), now, ({ ids }) => kid !== undefined && ids.has(kid));
    return found.outcome === 'found' ? found.value.keyOf(header) : found.outcome === 'absent' ? undefined : found;
  }
  if (kid === undefined) return undefined;
  const words = { ...settings.words, kid };
  const body = Object.entries(keys.body).map(([name, text]) => [name, filled(text, { ...settings, words })]);
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(body)),
  };
  const found = await singleKeys(keys.at).get(filled(keys.post, settings), now, undefined, init);
  return found.outcome === 'found' ? found.value.keyOf(header) : found.outcome === 'absent' ? undefined : found;
}

const sharedKey = memoize((secret: string) => new TextEncoder().encode(secret), MAX_SECRETS);

const publicKey = memoize((algorithm: string) =>
  memoize(
    (spki: string) =>
      importSPKI(`-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----`, algorithm).catch(() => undefined),
    MAX_SECRETS,
  ),
);

interface KeySet {
  readonly ids: ReadonlySet<string | undefined>;
  readonly keyOf: (header: Token['header']) => Promise<CryptoKey | undefined>;
}

const keySets = new KeyCache(async (text) => keySetFrom(parseJson(text)));

/** One cache for each path of the key in an answer. */
const singleKeys = memoize(
  (at: string) =>
    new KeyCache(async (text) => {
      const parsed = parseJson(text);
      const key = parsed.outcome === 'parsed' ? jsonAt(at, parsed.json) : undefined;
      return key === undefined ? undefined : keySetFrom({ outcome: 'parsed', json: { keys: [key] } });
    }),
);

/** jose finds the key for a header by its id, type, algorithm and use, and imports each key once. */
function keySetFrom(parsed: ReturnType<typeof parseJson>): KeySet | undefined {
  const keys = parsed.outcome === 'parsed' ? jsonAt('keys', parsed.json) : undefined;
  if (!Array.isArray(keys) || keys.length === 0) return undefined;
  try {
    const find = createLocalJWKSet({ keys });
    return {
      ids: new Set(keys.map(({ kid }: JWK) => kid)),
      keyOf: (header) => find(header).catch(() => undefined),
    };
  } catch {
    return undefined;
  }
}
