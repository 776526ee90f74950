import { type Bytes, sha256 } from '../encoding/bytes.ts';
import { once } from '../encoding/once.ts';
import type { Delivery, Provider, Scheme, Signature, Timestamp, Token } from '../providers/types.ts';
import { type Check, checkWith, sameText } from './algorithms.ts';
import { DeliveryWithJson } from './delivery.ts';
import { itemsOf } from './items.ts';
import { decode, keyBytes } from './keys.ts';
import { fillBytes, type TemplateValues, valueAt, valuesAt } from './places.ts';

export type { Delivery } from '../providers/types.ts';

export type Verdict =
  /** `secretIndex` says which of the given secrets matched. */
  { outcome: 'verified'; secretIndex: number } | { outcome: 'refused'; reason: Reason };

/** For the log only. The sender gets the same 401 for all of them. */
export type Reason =
  | 'no secret'
  | 'secret malformed'
  | 'signature missing'
  | 'signature malformed'
  | 'too many signatures'
  | 'signature mismatch'
  | 'signed header missing'
  | 'timestamp malformed'
  | 'timestamp outside the window'
  | 'no such handshake';

/**
 * Each candidate costs a hash of the body, so a header with thousands would cost us much time. A rotation needs two or
 * three.
 */
const MAX_CANDIDATES = 10;

/** A delivery that can't be verified is refused, whatever it contains. Only a mistake in a provider's own function throws. */
export async function verify(
  provider: Provider,
  delivery: Delivery,
  secrets: readonly string[],
  now: Date,
): Promise<Verdict> {
  if (secrets.every((secret) => secret === '')) return refused('no secret');
  const candidates = valuesAt(signaturePlaces(provider), delivery);
  if (candidates.length > MAX_CANDIDATES) return refused('too many signatures');

  const withJson = DeliveryWithJson.from(delivery);
  let verdict: Verdict = refused('secret malformed');
  for (const scheme of schemesOf(provider)) {
    if (scheme.token !== undefined) verdict = await verifyToken(scheme, delivery, secrets);
    else {
      const checks = await checksFor(scheme, secrets);
      // If no secret is a key of this scheme, the secrets are meant for another scheme, and that one decides.
      if (checks.length > 0) verdict = await verifySignature(scheme, provider, withJson, checks, now);
    }
    // The time is judged only after the signature matched, so its verdict is final: no other scheme can match as well.
    if (verdict.outcome === 'verified' || verdict.reason.startsWith('timestamp')) return verdict;
  }
  return verdict;
}

const schemesOf = once(({ scheme, otherSchemes = [] }: Provider) => [scheme, ...otherSchemes]);

/** Where the signatures or tokens of a provider are. A set, because two schemes may read the same header (OpenAI). */
export const signaturePlaces = once((provider: Provider) => [...new Set(schemesOf(provider).flatMap(placesOf))]);

/** The places where a scheme's signatures or tokens are. */
export function placesOf(scheme: Scheme): Signature['signature'] {
  return scheme.token !== undefined ? scheme.token : scheme.signature;
}

interface SecretCheck {
  readonly secretIndex: number;
  readonly check: Check;
}

/** A check for each secret that is a key of this scheme. */
async function checksFor(scheme: Signature, secrets: readonly string[]): Promise<SecretCheck[]> {
  const checks: SecretCheck[] = [];
  for (const [secretIndex, secret] of secrets.entries()) {
    const check = await checkFor(scheme)(secret);
    if (check) checks.push({ secretIndex, check });
  }
  return checks;
}

/**
 * Importing a key takes longer than verifying a short body with it, so it is done once in the life of an isolate. An
 * isolate ends when its secrets change, so it has only as many keys as there are secrets.
 */
const checkFor = once((scheme: Signature) =>
  once(async (secret: string): Promise<Check | undefined> => {
    const key = keyBytes(secret, scheme);
    return key && checkWith(scheme.algorithm ?? 'hmac-sha256', key);
  }),
);

async function verifySignature(
  scheme: Signature,
  provider: Provider,
  delivery: DeliveryWithJson,
  checks: readonly SecretCheck[],
  now: Date,
): Promise<Verdict> {
  if (scheme.bodyHash && !(await bodyHashMatches(scheme.bodyHash, delivery))) return refused('signature mismatch');
  let verdict: Verdict = refused('signature missing');
  for (const part of signedParts(scheme, provider, delivery)) {
    verdict = await verifyPart(scheme, part, checks);
    if (verdict.outcome === 'refused') return verdict;
    // After the signature: the log then never blames a time that a stranger wrote.
    const wrongTime = scheme.timestamp && judgeTime(scheme.timestamp, part, delivery, now);
    if (wrongTime) return refused(wrongTime);
  }
  return verdict;
}

/**
 * The parts of a delivery that have a signature of their own: the whole delivery, or each item of the batch (Adyen).
 * The JSON is parsed before it is verified only if the signature is inside it (Mailgun, Adyen), because otherwise there
 * would be nothing to verify. In all other cases a part has no JSON, and `json:` places in it hold nothing.
 */
function* signedParts(scheme: Signature, provider: Provider, delivery: DeliveryWithJson): Generator<TemplateValues> {
  const insideBody = [scheme.signature].flat().some((place) => place.startsWith('json:'));
  if (!insideBody) {
    yield delivery;
    return;
  }
  const json = delivery.readJson();
  // Without an envelope: an item is signed as it is.
  const parts = scheme.perItem ? itemsOf({ each: provider.batch?.each ?? [] }, json) : [json];
  for (const part of parts ?? []) yield { ...delivery, json: part };
}

async function verifyPart(scheme: Signature, part: TemplateValues, checks: readonly SecretCheck[]): Promise<Verdict> {
  const candidates = valuesAt(scheme.signature, part);
  if (candidates.length === 0) return refused('signature missing');
  const signatures = candidates.map((text) => decode(text, scheme.encoding)).filter((bytes) => bytes !== undefined);
  if (signatures.length === 0) return refused('signature malformed');

  const texts = signedTexts(scheme, part);
  if (texts.length === 0) return refused('signed header missing');
  for (const { secretIndex, check } of checks) {
    for (const text of texts) {
      for (const signature of signatures) {
        if (await check(signature, text)) return { outcome: 'verified', secretIndex };
      }
    }
  }
  return refused('signature mismatch');
}

/** The texts that may have been signed. A template gives one text, a custom function may give several. */
export function signedTexts({ signed }: Signature, part: TemplateValues): Bytes[] {
  if (typeof signed !== 'string') return signed.custom(part);
  const text = fillBytes(signed, part);
  return text === undefined ? [] : [text];
}

/** True also if the URL carries no hash: then the body itself must be part of the signed text. */
async function bodyHashMatches(place: NonNullable<Signature['bodyHash']>, delivery: Delivery): Promise<boolean> {
  const [hash, ...more] = valuesAt(place, delivery);
  return hash === undefined || (more.length === 0 && hash === (await sha256(delivery.body)));
}

async function verifyToken(scheme: Token, delivery: Delivery, secrets: readonly string[]): Promise<Verdict> {
  const [given, ...more] = valuesAt(scheme.token, delivery);
  if (given === undefined) return refused('signature missing');
  if (more.length > 0) return refused('signature malformed');
  for (const [secretIndex, secret] of secrets.entries()) {
    if (secret === '') continue;
    const expected = scheme.basic ? `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(secret)))}` : secret;
    if (await sameText(expected, given)) return { outcome: 'verified', secretIndex };
  }
  return refused('signature mismatch');
}

/** The reason to refuse a time, if there is one. */
function judgeTime(
  { at, unit, windowSeconds }: Timestamp,
  part: TemplateValues,
  delivery: DeliveryWithJson,
  now: Date,
): Reason | undefined {
  // The signature is verified now, so the JSON may be parsed: Linear's time is inside it.
  const unparsed = at.startsWith('json:') && part.json === undefined;
  const text = valueAt(at, unparsed ? { ...part, json: delivery.readJson() } : part);
  // The exact text was signed. A forgiving parser ("123abc" as 123) would judge another time than the signed one.
  if (text === undefined || !/^\d{1,15}$/.test(text)) return 'timestamp malformed';
  const seconds = Number(text) / (unit === 'ms' ? 1000 : 1);
  const age = Math.abs(Math.floor(now.getTime() / 1000) - Math.floor(seconds));
  return age <= windowSeconds ? undefined : 'timestamp outside the window';
}

function refused(reason: Reason): Extract<Verdict, { outcome: 'refused' }> {
  return { outcome: 'refused', reason };
}
