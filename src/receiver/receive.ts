import type { Source } from '../kit/index.ts';
import type { Log } from '../log.ts';
import { DeliveryWithJson } from '../verify/delivery.ts';
import { type Reason, verify } from '../verify/index.ts';
import { readBody } from './body.ts';
import { type Greeted, greetSigned, greetUnsigned } from './handshake.ts';
import { hold } from './hold.ts';
import { type Identified, identify, keptHeaders } from './identify.ts';
import { publicUrl } from './public-url.ts';
import { secretsOf, verifyTokenOf } from './secrets.ts';

export type Outcome =
  | { outcome: 'accepted' | 'duplicate'; ids: string[]; accepted: number; duplicate: number; forwarded?: true }
  | { outcome: 'too_large' }
  | { outcome: 'no_usable_secret' }
  | { outcome: 'refused'; reason: Reason }
  | Extract<Greeted, { outcome: 'handshake' }>
  | Extract<Identified, { outcome: 'unclaimable' }>
  | { outcome: 'not_held' };

/**
 * Far above what an event usually comes to, and harmless to hold several times over in a Worker's 128 MB, which all the
 * deliveries of one isolate share. Some providers send more: they, or a source, set their own.
 */
const MAX_BYTES = 1024 * 1024;

/** The path of one delivery, in its order: bytes before text, verify before parse, claim before ack. */
export async function receive(
  request: Request,
  name: string,
  source: Source,
  env: ReceiverEnv,
  now: Date,
  log: Log,
): Promise<Outcome> {
  const { provider } = source;
  const body = await readBody(request, source.maxBytes ?? provider.maxBytes ?? MAX_BYTES);
  if (body.outcome === 'too_large') return body;

  const secrets = secretsOf(name, env);
  if (secrets.length === 0) return { outcome: 'no_usable_secret' };
  const { method, headers } = request;
  const delivery = new DeliveryWithJson({ method, url: publicUrl(source, request), headers, body: body.bytes });
  const verifyToken = verifyTokenOf(name, env);
  const greeted = await greetUnsigned(source, delivery, { secret: secrets[0] ?? '', verifyToken });
  if (greeted) return greeted;
  const verdict = await verify(provider, delivery, secrets, now);
  if (verdict.outcome === 'refused') {
    // Our mistake, like a missing one: a 401 would make some senders give the event up.
    return verdict.reason === 'secret malformed' ? { outcome: 'no_usable_secret' } : verdict;
  }

  const confirmed = await greetSigned(source, delivery, { secret: secrets[verdict.secretIndex] ?? '', verifyToken });
  if (confirmed) return confirmed;
  const identified = await identify(source, delivery);
  if (identified.outcome === 'unclaimable') return identified;
  // A heartbeat, or a test of the address: there is nothing to hold.
  if (identified.events.length === 0) return { outcome: 'accepted', ids: [], accepted: 0, duplicate: 0 };

  const { events } = identified;
  const ids = events.map((event) => event.eventId);
  const held = await hold({ source: name, events, headers: keptHeaders(provider, headers), receivedAt: now }, env, log);
  switch (held.outcome) {
    case 'claimed': {
      const accepted = held.claims.claimed.length;
      const duplicate = events.length - accepted;
      return { outcome: accepted > 0 ? 'accepted' : 'duplicate', ids, accepted, duplicate };
    }
    case 'forwarded':
      return { outcome: 'accepted', ids, accepted: events.length, duplicate: 0, forwarded: true };
    case 'not_held':
      return held;
  }
}
