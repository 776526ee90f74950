import { type Bytes, sha256 } from '../encoding/bytes.ts';
import { jsonOf } from '../encoding/json.ts';
import type { Delivery, Provider, Scheme, Signature, Timestamp, Token } from '../providers/types.ts';
import { type Check, checkWith, sameText } from './algorithms.ts';
import { itemsOf } from './items.ts';
import { decode, keyBytes } from './keys.ts';
import { fillBytes, type Sight, valueAt, valuesAt } from './places.ts';

export type { Delivery } from '../providers/types.ts';

export type Verdict =
  /** `secretIndex` says which of the given secrets matched. */
  { outcome: 'verified'; secretIndex: number } | { outcome: 'refused'; reason: Reason };

/** For the log. The sender learns none of it: every refusal is the same 401. */
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

/** Each candidate costs a hash of the body, so a header full of them would be an amplifier. A rotation needs two or three. */
const MAX_CANDIDATES = 10;

/** Never throws: whatever a stranger sends is at worst refused. */
export async function verify(
  provider: Provider,
  delivery: Delivery,
  secrets: readonly string[],
  now: Date,
): Promise<Verdict> {
  const schemes = [provider.scheme, ...(provider.otherSchemes ?? [])];
  if (secrets.every((secret) => secret === '')) return refused('no secret');
  // Two schemes may read the same header (OpenAI).
  const places = new Set(schemes.flatMap((scheme) => placesOf(scheme)));
  const candidates = valuesAt([...places], delivery);
  if (candidates.length > MAX_CANDIDATES) return refused('too many signatures');

  let verdict: Verdict = refused('secret malformed');
  for (const scheme of schemes) {
    if ('token' in scheme) verdict = await verifyToken(scheme, delivery, secrets);
    else {
      const checks = await checksFor(scheme, secrets);
      // Not a secret of this scheme: another one decides.
      if (checks.length > 0) verdict = await verifySignature(scheme, provider, delivery, checks, now);
    }
    // A time is judged once the signature held: it was this scheme's, and no other has a say.
    if (verdict.outcome === 'verified' || verdict.reason.startsWith('timestamp')) return verdict;
  }
  return verdict;
}

/** Where a scheme's signatures stand. */
export function placesOf(scheme: Scheme): Signature['signature'] {
  return 'token' in scheme ? scheme.token : scheme.signature;
}

interface SecretCheck {
  readonly secretIndex: number;
  readonly check: Check;
}

/** A check for each secret that is a key of this scheme. */
async function checksFor(scheme: Signature, secrets: readonly string[]): Promise<SecretCheck[]> {
  const checks: SecretCheck[] = [];
  for (const [secretIndex, secret] of secrets.entries()) {
    const key = keyBytes(secret, scheme);
    const check = key && (await checkWith(scheme.algorithm ?? 'hmac-sha256', key));
    if (check) checks.push({ secretIndex, check });
  }
  return checks;
}

async function verifySignature(
  scheme: Signature,
  provider: Provider,
  delivery: Delivery,
  checks: readonly SecretCheck[],
  now: Date,
): Promise<Verdict> {
  if (scheme.bodyHash && !(await bodyHashHolds(scheme.bodyHash, delivery))) return refused('signature mismatch');
  const sights = sightsOf(scheme, provider, delivery);
  let verdict: Verdict = refused('signature missing');
  for (const sight of sights) {
    verdict = await verifyOne(scheme, sight, checks);
    if (verdict.outcome === 'refused') return verdict;
  }
  const [sight = delivery] = sights;
  const timeError = scheme.timestamp && timeErrorOf(scheme.timestamp, sight, now);
  return timeError ? refused(timeError) : verdict;
}

/**
 * What is looked at, each with a signature of its own. Here alone JSON is parsed before it is verified: Mailgun puts
 * its signature inside the body, and Adyen one inside every item, so that there is nothing to verify without parsing.
 */
function sightsOf(scheme: Signature, provider: Provider, delivery: Delivery): Sight[] {
  const inside = [scheme.signature].flat().some((place) => place.startsWith('json:'));
  if (!inside) return [delivery];
  const json = jsonOf(delivery.body);
  if (!scheme.perItem) return [{ ...delivery, json }];
  const items = provider.batch ? itemsOf({ each: provider.batch.each }, json) : undefined;
  return (items ?? []).map((item) => ({ ...delivery, json: item }));
}

async function verifyOne(scheme: Signature, sight: Sight, checks: readonly SecretCheck[]): Promise<Verdict> {
  const candidates = valuesAt(scheme.signature, sight);
  if (candidates.length === 0) return refused('signature missing');
  const signatures = candidates.map((text) => decode(text, scheme.encoding)).filter((bytes) => bytes !== undefined);
  if (signatures.length === 0) return refused('signature malformed');

  const texts = signedTexts(scheme, sight);
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

/** One text, but for the escape hatch. */
export function signedTexts({ signed }: Signature, sight: Sight): Bytes[] {
  if (typeof signed !== 'string') return signed.custom(sight);
  const text = fillBytes(signed, sight);
  return text === undefined ? [] : [text];
}

/** Holds also where no hash is given: then the body itself must be among what is signed. */
async function bodyHashHolds(place: NonNullable<Signature['bodyHash']>, delivery: Delivery): Promise<boolean> {
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

/** Judged after the signature, so that the reason in the log is never about a time that a stranger wrote. */
function timeErrorOf(timestamp: Timestamp, sight: Sight, now: Date): Reason | undefined {
  const inside = timestamp.at.startsWith('json:') && !('json' in sight);
  const text = valueAt(timestamp.at, inside ? { ...sight, json: jsonOf(sight.body) } : sight);
  // The text as it stood was signed; re-formatting it ("123abc" to 123) would judge another time than the signed one.
  if (text === undefined || !/^\d{1,15}$/.test(text)) return 'timestamp malformed';
  const seconds = Number(text) / (timestamp.unit === 'ms' ? 1000 : 1);
  const age = Math.abs(Math.floor(now.getTime() / 1000) - Math.floor(seconds));
  return age <= timestamp.windowSeconds ? undefined : 'timestamp outside the window';
}

function refused(reason: Reason): Extract<Verdict, { outcome: 'refused' }> {
  return { outcome: 'refused', reason };
}
