import type { Delivery, Place, Provider, Scheme, Signature, Timestamp, Token } from '../providers/types.ts';
import { type Bytes, sha256 } from '../shared/bytes.ts';
import { MAX_SECRETS, memoize } from '../shared/memoize.ts';
import { type Check, checkWith, decodeSignature, keyBytes, sameText } from './algorithms.ts';
import type { DeliveryValues } from './delivery.ts';
import { itemsOf } from './items.ts';
import { asList, fillBytes, type TemplateValues, textAt, textsAt } from './places.ts';

export type Verdict =
  /** `secretIndex` says which of the given secrets matched. */
  | { outcome: 'verified'; secretIndex: number }
  | Refusal
  /** The provider's keys can't be fetched now, so the delivery can't be judged. The provider must send it again. */
  | { outcome: 'keys_unavailable'; host: string; why: string };

/** Everything except `outcome` is for the log. */
export interface Refusal {
  readonly outcome: 'refused';
  readonly reason: Reason;
  /** The places that hold no text, or more than one text, as written in the provider's data: `header:stripe-signature#v1`. */
  readonly missing?: string;
  /** The place of the value that is not the expected one: a claim, the hash of the body, or the address of the certificate. */
  readonly claim?: string;
  /** The age of the signed time in seconds. It is negative if that time is in the future. */
  readonly secondsOff?: number;
}

/** For the log only. The sender gets the same 401 for every reason. */
export type Reason =
  | 'no secret'
  | 'secret malformed'
  | 'signature missing'
  | 'signature malformed'
  | 'too many signatures'
  | 'signature mismatch'
  | 'wrong claim'
  | 'certificate not valid'
  | 'signed header missing'
  | 'timestamp malformed'
  | 'timestamp outside the window'
  // Only from the receiver.
  | 'no such handshake';

/** Limited, because each candidate signature costs a hash of the body. A rotation needs two or three. */
const MAX_CANDIDATES = 10;

/**
 * Verifies a delivery. Never throws because of what a delivery contains: only a bug in a provider's `custom` function
 * throws. `signatures` is the result of `readSignatures`.
 */
export async function verify(
  provider: Provider,
  delivery: DeliveryValues,
  signatures: Signatures,
  secrets: readonly string[],
  now: Date,
): Promise<Verdict> {
  if (secrets.every((secret) => secret === '')) return refused('no secret');
  if ([...signatures.values()].flat().length > MAX_CANDIDATES) return refused('too many signatures');

  let refusal = refused('secret malformed');
  for (const scheme of schemesOf(provider)) {
    let verdict: Verdict = refusal;
    const candidates = signaturePlaces(scheme).flatMap((place) => signatures.get(place) ?? []);
    if (scheme.check !== undefined) {
      for (const [, texts] of partsOf(scheme, provider, delivery, candidates))
        verdict = await scheme.check(scheme, { delivery, candidates: texts, secrets, now });
    } else if (scheme.token !== undefined)
      verdict = await verifyTokens(scheme, provider, delivery, candidates, secrets);
    else {
      const checksBySecret = await Promise.all(secrets.map(checkFor(scheme)));
      // If no secret is a valid key for this scheme, the secrets belong to another scheme, so the next one decides.
      if (checksBySecret.some(Boolean))
        verdict = await verifySignatures(scheme, provider, delivery, candidates, checksBySecret, now);
    }
    // A refusal for the time means that this scheme's signature matched. So don't try the others.
    if (verdict.outcome !== 'refused' || verdict.reason.startsWith('timestamp')) return verdict;
    // Schemes that the sender doesn't use report a missing signature. Keep the most telling refusal: any other over
    // 'signature missing', and 'signature missing' over the initial 'secret malformed'.
    if (verdict.reason !== 'signature missing' || refusal.reason === 'secret malformed') refusal = verdict;
  }
  return refusal.reason === 'signature missing' ? signatureMissing(provider) : refusal;
}

export function signatureMissing(provider: Provider): Refusal {
  return refused('signature missing', { missing: allSignaturePlaces(provider).join(' or ') });
}

export const schemesOf = memoize(({ scheme, otherSchemes = [] }: Provider) => [scheme, ...otherSchemes]);

/** The places that hold a scheme's signatures or tokens. */
export function signaturePlaces(scheme: Scheme): readonly Place[] {
  return asList(scheme.token !== undefined ? scheme.token : scheme.signature);
}

/** A set, because two schemes may read the same header (OpenAI). */
const allSignaturePlaces = memoize((provider: Provider) => [...new Set(schemesOf(provider).flatMap(signaturePlaces))]);

export const signsInsideBody = memoize((provider: Provider) =>
  allSignaturePlaces(provider).some((place) => /^(json|form|body):/.test(place)),
);

/** The signatures or tokens of a delivery, by place. Those inside the JSON body are read later, in `partsOf`. */
export type Signatures = ReadonlyMap<Place, readonly string[]>;

export function readSignatures(provider: Provider, delivery: TemplateValues): Signatures {
  const signatures = new Map<Place, readonly string[]>();
  for (const place of allSignaturePlaces(provider)) {
    const texts = textsAt(place, delivery);
    if (texts.length > 0) signatures.set(place, texts);
  }
  return signatures;
}

/** Importing a key takes longer than verifying a short body, so each isolate imports a key once. */
const checkFor = memoize((scheme: Signature) =>
  memoize(async (secret: string): Promise<Check | undefined> => {
    const key = keyBytes(secret, scheme);
    return key && checkWith(scheme.algorithm ?? 'hmac-sha256', key);
  }, MAX_SECRETS),
);

/** `checksBySecret[n]` is the check for secret n, or `undefined` if it is not a key for this scheme. */
async function verifySignatures(
  scheme: Signature,
  provider: Provider,
  delivery: DeliveryValues,
  candidates: readonly string[],
  checksBySecret: readonly (Check | undefined)[],
  now: Date,
): Promise<Verdict> {
  if (scheme.bodyHash && !(await bodyHashMatches(scheme.bodyHash, delivery))) return refused('signature mismatch');
  let verdict: Verdict = refused('signature missing');
  for (const [part, texts] of partsOf(scheme, provider, delivery, candidates)) {
    verdict = await verifyPart(scheme, part, texts, checksBySecret, now);
    if (verdict.outcome === 'refused') return verdict;
  }
  return verdict;
}

/**
 * Yields each separately signed part of a delivery with its signatures or tokens: the whole delivery, or each item of
 * the batch (Adyen, Microsoft Graph). The JSON is parsed before verification only if the signature is inside it. Otherwise
 * the body isn't parsed yet, so `json:` places have no value.
 */
function* partsOf(
  scheme: Scheme,
  provider: Provider,
  delivery: DeliveryValues,
  candidates: readonly string[],
): Generator<readonly [part: DeliveryValues, candidates: readonly string[]]> {
  const places = signaturePlaces(scheme);
  if (!places.some((place) => place.startsWith('json:'))) {
    yield [delivery, candidates];
    return;
  }
  delivery.parse();
  // Omit the envelope, because an item is signed without it.
  const items = scheme.perItem ? itemsOf({ each: provider.batch?.each ?? [] }, delivery.json) : [delivery.json];
  for (const item of items ?? []) {
    const part = scheme.perItem ? delivery.itemOf(item) : delivery;
    yield [part, textsAt(places, part)];
  }
}

async function verifyPart(
  scheme: Signature,
  part: DeliveryValues,
  candidates: readonly string[],
  checksBySecret: readonly (Check | undefined)[],
  now: Date,
): Promise<Verdict> {
  if (candidates.length === 0) return refused('signature missing');
  const signatures = candidates.flatMap((text) => decodeSignature(text, scheme.encoding) ?? []);
  if (signatures.length === 0) return refused('signature malformed');

  const texts = signedTexts(scheme, part);
  if (texts.length === 0) return refused('signed header missing', { missing: missingIn(scheme, part) });
  for (const [secretIndex, check] of checksBySecret.entries()) {
    for (const text of texts) {
      for (const signature of signatures) {
        if (!(await check?.(signature, text))) continue;
        // Check the time after the signature, so that the log never reports a time that a stranger made up.
        return (scheme.timestamp && judgeTime(scheme.timestamp, part, now)) ?? { outcome: 'verified', secretIndex };
      }
    }
  }
  return refused('signature mismatch');
}

/** The texts that may have been signed. A template gives one text; a custom function may give several. */
export function signedTexts({ signed }: Signature, part: TemplateValues): Bytes[] {
  if (typeof signed !== 'string') return signed.custom(part, (place) => textAt(place, part));
  const text = fillBytes(signed, part);
  return text === undefined ? [] : [text];
}

/** The places that the signed text needs but that hold no text. */
function missingIn({ signed }: Signature, part: TemplateValues): string {
  const missing = new Set<Place>();
  const look = (place: Place) => {
    const text = textAt(place, part);
    if (text === undefined) missing.add(place);
    return text;
  };
  if (typeof signed !== 'string') signed.custom(part, look);
  else for (const [, place] of signed.matchAll(/\{([\w-]+:[^}]+)\}/g)) look(place as Place);
  return [...missing].join(', ');
}

/**
 * The headers that the signature covers, if the delivery lists them. Empty if a provider has several schemes, because the
 * verdict doesn't say which of them matched.
 */
export function signedHeaders({ scheme, otherSchemes }: Provider, delivery: Delivery): readonly string[] {
  if (
    otherSchemes !== undefined ||
    scheme.token !== undefined ||
    scheme.check !== undefined ||
    typeof scheme.signed === 'string'
  )
    return [];
  return scheme.signed.signedHeaders?.(delivery) ?? [];
}

/** Also true if the URL contains no hash, because then the body itself is part of the signed text (Twilio's forms). */
async function bodyHashMatches(place: Place, delivery: Delivery): Promise<boolean> {
  const [hash, ...more] = textsAt(place, delivery);
  return hash === undefined || (more.length === 0 && hash === (await sha256(delivery.body)));
}

async function verifyTokens(
  scheme: Token,
  provider: Provider,
  delivery: DeliveryValues,
  candidates: readonly string[],
  secrets: readonly string[],
): Promise<Verdict> {
  let verdict: Verdict = refused('signature missing');
  for (const [, tokens] of partsOf(scheme, provider, delivery, candidates)) {
    verdict = await verifyToken(scheme, tokens, secrets);
    if (verdict.outcome === 'refused') return verdict;
  }
  return verdict;
}

async function verifyToken({ basic }: Token, tokens: readonly string[], secrets: readonly string[]): Promise<Verdict> {
  const [given, ...more] = tokens;
  if (given === undefined) return refused('signature missing');
  if (more.length > 0) return refused('signature malformed');
  for (const [secretIndex, secret] of secrets.entries()) {
    if (secret === '') continue;
    const expected = basic ? `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(secret)))}` : secret;
    if (await sameText(expected, given)) return { outcome: 'verified', secretIndex };
  }
  return refused('signature mismatch');
}

/** Returns a refusal if the signed time is malformed or outside the window. */
export function judgeTime(
  { at, unit, windowSeconds }: Timestamp,
  part: DeliveryValues,
  now: Date,
): Refusal | undefined {
  // Parsing is safe here because the signature is already verified. Linear's time is inside the JSON.
  if (at.startsWith('json:') && part.json === undefined) part.parse();
  const text = textAt(at, part);
  if (text === undefined) return refused('timestamp malformed', { missing: at });
  const seconds = secondsOf(text, unit);
  if (Number.isNaN(seconds)) return refused('timestamp malformed');
  const secondsOff = Math.floor(now.getTime() / 1000) - Math.floor(seconds);
  if (Math.abs(secondsOff) <= windowSeconds) return undefined;
  return refused('timestamp outside the window', { secondsOff });
}

/** RFC 3339, section 5.6, in upper case. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Strict, because a lenient parser ("123abc" as 123) would check a different time from the signed one. */
function secondsOf(text: string, unit: Timestamp['unit']): number {
  if (unit === 'iso') return RFC_3339.test(text) ? Date.parse(text) / 1000 : Number.NaN;
  if (!/^\d{1,15}$/.test(text)) return Number.NaN;
  return Number(text) / (unit === 'ms' ? 1000 : 1);
}

export function refused(reason: Reason, details: Omit<Refusal, 'outcome' | 'reason'> = {}): Refusal {
  return { outcome: 'refused', reason, ...details };
}
