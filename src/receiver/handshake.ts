import { toHex } from '../encoding/bytes.ts';
import type { Source } from '../kit/index.ts';
import type { Handshake, Place, Provider, Template } from '../providers/types.ts';
import { sameText } from '../verify/algorithms.ts';
import type { DeliveryWithJson } from '../verify/delivery.ts';
import { placesOf, type Reason } from '../verify/index.ts';
import { fillText, type TemplateValues, valueAt, valuesAt } from '../verify/places.ts';
import { MIN_PASSPHRASE, seal } from './seal.ts';

export type Greeted =
  | { outcome: 'handshake'; reply: FilledReply; sealed?: string }
  | { outcome: 'refused'; reason: Reason };

export interface FilledReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What a handshake may be answered with. */
export interface Known {
  /** Of a signed handshake: the secret that it is signed with. Otherwise the current one. */
  readonly secret: string;
  readonly verifyToken: string | undefined;
}

/** The methods a source answers to. Deliveries are posted; a GET is a handshake, or nothing. */
export function methodsOf({ handshakes = [] }: Provider): readonly string[] {
  return handshakes.some(({ method }) => method === 'GET') ? ['GET', 'POST'] : ['POST'];
}

/** The handshakes that a source answers now although they carry no signature. */
export function unsignedHandshakes({ provider, awaitsSecret }: Source): readonly Handshake[] {
  return (provider.handshakes ?? []).filter(
    ({ signed, handsOver }) => !signed && (handsOver === undefined || awaitsSecret),
  );
}

/** Before the signature is looked at: the handshakes that carry none. `undefined` for what is a delivery. */
export async function greetUnsigned(
  source: Source,
  delivery: DeliveryWithJson,
  known: Known,
): Promise<Greeted | undefined> {
  const { provider } = source;
  if (delivery.method !== 'GET' && valuesAt(placesOf(provider.scheme), delivery).length > 0) return undefined;
  const greeted = await greet(unsignedHandshakes(source), delivery, known);
  if (greeted === undefined && delivery.method === 'GET') return { outcome: 'refused', reason: 'no such handshake' };
  return greeted;
}

/** Once the signature has been verified: the handshakes that are signed like any delivery. */
export async function greetSigned(
  source: Source,
  delivery: DeliveryWithJson,
  known: Known,
): Promise<Greeted | undefined> {
  return greet(
    (source.provider.handshakes ?? []).filter(({ signed }) => signed),
    delivery,
    known,
  );
}

async function greet(
  offered: readonly Handshake[],
  delivery: DeliveryWithJson,
  known: Known,
): Promise<Greeted | undefined> {
  const looksInside = offered.some(({ when }) => when.some(({ at }) => at.startsWith('json:')));
  // Unsigned JSON is parsed here only while the source awaits a secret that arrives inside it (Notion).
  const values: TemplateValues = looksInside ? { ...delivery, json: delivery.readJson() } : delivery;
  const met = offered.find((handshake) => isMet(handshake, values));
  if (met === undefined) return undefined;
  if (met.verifyToken !== undefined) {
    const given = valueAt(met.verifyToken, values);
    // None set: fail closed.
    if (!given || !known.verifyToken || !(await sameText(known.verifyToken, given))) {
      return { outcome: 'refused', reason: 'no such handshake' };
    }
  }
  const filled: Greeted = { outcome: 'handshake', reply: await fillReply(met, values, known.secret) };
  const handed = met.handsOver && valueAt(met.handsOver, values);
  if (handed === undefined) return filled;
  if (known.secret.length < MIN_PASSPHRASE) return { outcome: 'refused', reason: 'secret malformed' };
  return { ...filled, sealed: await seal(handed, known.secret) };
}

function isMet({ method, when }: Handshake, values: TemplateValues): boolean {
  if (method !== values.method) return false;
  return when.every(({ at, is, like }) => {
    const value = valueAt(at, values);
    return value !== undefined && (is === undefined || value === is) && (like === undefined || like.test(value));
  });
}

async function fillReply({ reply, when }: Handshake, values: TemplateValues, secret: string): Promise<FilledReply> {
  const { status, headers = {}, text, json } = reply;
  const limited = when.flatMap(({ at, like }) => (like ? [at] : []));
  const filled = { ...values, hmacHex: await macsFor(Object.values(json ?? {}), limited, values, secret) };
  const fill = (template: Template) => fillText(template, filled) ?? '';
  const fillAll = (templates: Readonly<Record<string, Template>>) =>
    Object.fromEntries(Object.entries(templates).map(([name, template]) => [name, fill(template)]));
  const body = json ? JSON.stringify(fillAll(json)) : text === undefined ? null : fill(text);
  const type = body === null ? {} : { 'content-type': json ? 'application/json' : 'text/plain' };
  return { status, headers: { ...type, ...fillAll(headers) }, body };
}

/**
 * Zoom wants to see that we know its secret: a value of its choice, signed with it. The value must be limited by a
 * pattern. Otherwise somebody could let us sign the text of a delivery, and send it with this signature.
 */
async function macsFor(
  templates: readonly Template[],
  limited: readonly Place[],
  values: TemplateValues,
  secret: string,
): Promise<Record<Place, string>> {
  const places = templates.flatMap((template) => /^\{hmac-hex:(.+)\}$/.exec(template)?.[1] ?? []) as Place[];
  const utf8 = new TextEncoder();
  const macs: Record<Place, string> = {};
  for (const place of places) {
    if (!limited.includes(place)) throw new TypeError(`a reply signs ${place}, and no condition with like limits it`);
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('raw', utf8.encode(secret), algorithm, false, ['sign']);
    macs[place] = toHex(await crypto.subtle.sign('HMAC', key, utf8.encode(valueAt(place, values) ?? '')));
  }
  return macs;
}
