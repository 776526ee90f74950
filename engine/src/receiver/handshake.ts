import type { Source } from '../kit/index.ts';
import type { Handshake, Place, Provider, Reply, Template } from '../providers/types.ts';
import { toHex } from '../shared/bytes.ts';
import { settingOf } from '../shared/settings.ts';
import { sameText } from '../verify/algorithms.ts';
import type { DeliveryValues } from '../verify/delivery.ts';
import type { Refusal } from '../verify/index.ts';
import { fillText, meets, textAt } from '../verify/places.ts';
import { MIN_PASSPHRASE, seal, verifyTokenName } from './secrets.ts';

export type HandshakeResult =
  /** `reply` has its templates filled. `sealed` is a secret that the provider has handed over. */
  | { outcome: 'handshake'; reply: Reply; sealed?: string }
  | Refusal
  /** The call that confirms our address failed, so the provider must send the handshake again. */
  | { outcome: 'not_confirmed'; host: string };

/** The methods that a source answers. Deliveries are always posted; a GET can only be a handshake. */
export function methodsOf({ handshakes = [] }: Provider): readonly string[] {
  return handshakes.some(({ method }) => method === 'GET') ? ['GET', 'POST'] : ['POST'];
}

/** The handshakes of one kind that a source answers now. A signed handshake is signed like a delivery. */
export function handshakesOf(
  { provider, awaitsSecret, awaitsConfirmation }: Source,
  method: string,
  kind: 'unsigned' | 'signed',
): readonly Handshake[] {
  return (provider.handshakes ?? []).filter(
    (one) =>
      one.method === method &&
      (one.signed ? 'signed' : 'unsigned') === kind &&
      (one.handsOver === undefined || awaitsSecret) &&
      (one.calls === undefined || awaitsConfirmation),
  );
}

/**
 * Answers a handshake. Returns `undefined` if the delivery is not one. `secret` is the secret that a signed handshake
 * is signed with, or otherwise the current one.
 */
export async function tryHandshakes(
  handshakes: readonly Handshake[],
  delivery: DeliveryValues,
  source: string,
  env: object,
  secret: string,
): Promise<HandshakeResult | undefined> {
  // Unsigned JSON is parsed here only while the source awaits a secret that arrives inside it (Notion).
  if (handshakes.some(({ when }) => when.some(({ at }) => at.startsWith('json:')))) delivery.parse();
  const handshake = handshakes.find(({ when }) => meets(when, delivery));
  if (handshake === undefined) return undefined;
  if (handshake.verifyToken !== undefined) {
    const expected = settingOf(env, verifyTokenName(source));
    const given = textAt(handshake.verifyToken, delivery);
    // Without a configured token, no token matches.
    if (!given || !expected || !(await sameText(expected, given))) {
      return { outcome: 'refused', reason: 'no such handshake' };
    }
  }
  const url = handshake.calls && textAt(handshake.calls, delivery);
  if (url !== undefined && !(await isConfirmedBy(url))) return { outcome: 'not_confirmed', host: new URL(url).host };
  const reply = await fillReply(handshake, delivery, secret);
  const handedOver = handshake.handsOver && textAt(handshake.handsOver, delivery);
  if (handedOver === undefined) return { outcome: 'handshake', reply };
  if (secret.length < MIN_PASSPHRASE) return { outcome: 'refused', reason: 'secret malformed' };
  return { outcome: 'handshake', reply, sealed: await seal(handedOver, secret) };
}

/** AWS waits 15 s for our answer. */
const CONFIRM_TIMEOUT_MS = 5000;

async function isConfirmedBy(url: string): Promise<boolean> {
  try {
    const { ok, body } = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(CONFIRM_TIMEOUT_MS) });
    await body?.cancel();
    return ok;
  } catch {
    return false;
  }
}

async function fillReply({ reply, when }: Handshake, delivery: DeliveryValues, secret: string): Promise<Reply> {
  const { status, headers = {}, text, json } = reply;
  const limited = when.flatMap(({ at, like }) => (like ? [at] : []));
  delivery.hmacHex = await macsFor(Object.values(json ?? {}), limited, delivery, secret);
  const fill = (template: Template) => fillText(template, delivery) ?? '';
  const fillAll = (templates: Readonly<Record<string, Template>>) =>
    Object.fromEntries(Object.entries(templates).map(([name, template]) => [name, fill(template)]));
  if (json === undefined && text === undefined) return { status, headers: fillAll(headers) };
  const type = { 'content-type': json ? 'application/json' : 'text/plain' };
  return {
    status,
    headers: { ...type, ...fillAll(headers) },
    text: json ? JSON.stringify(fillAll(json)) : fill(text ?? ''),
  };
}

/**
 * Zoom checks that we know its secret by having us sign a value of its choice. A pattern must limit this value, because
 * otherwise somebody could have us sign the text of a delivery and send it with this signature.
 */
async function macsFor(
  templates: readonly Template[],
  limited: readonly Place[],
  delivery: DeliveryValues,
  secret: string,
): Promise<Record<Place, string>> {
  const places = templates.flatMap((template) => /^\{hmac-hex:(.+)\}$/.exec(template)?.[1] ?? []) as Place[];
  const utf8 = new TextEncoder();
  const macs: Record<Place, string> = {};
  for (const place of places) {
    if (!limited.includes(place)) throw new TypeError(`a reply signs ${place}, but no condition limits it with like`);
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('raw', utf8.encode(secret), algorithm, false, ['sign']);
    macs[place] = toHex(await crypto.subtle.sign('HMAC', key, utf8.encode(textAt(place, delivery) ?? '')));
  }
  return macs;
}
