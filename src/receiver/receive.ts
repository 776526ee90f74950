import type { Source } from '../kit/index.ts';
import type { Log } from '../log.ts';
import type { Delivery } from '../providers/types.ts';
import { DeliveryWithJson } from '../verify/delivery.ts';
import { type Reason, signaturePlaces, verify } from '../verify/index.ts';
import { valuesAt } from '../verify/places.ts';
import { BODY_DEADLINE_MS, type Body, type BodyBudget, readBody } from './body.ts';
import { claimOrForward } from './claim-or-forward.ts';
import { type Greeted, greetSigned, greetUnsigned, unsignedHandshakes } from './handshake.ts';
import { type Identified, identify, keptHeaders } from './identify.ts';
import { publicUrl } from './public-url.ts';
import { secretsOf, verifyTokenOf } from './secrets.ts';

/** What a delivery is received with, besides its source. */
export interface ReceiveDependencies {
  readonly now: () => Date;
  readonly log: Log;
  readonly budget: BodyBudget;
  readonly claimTimeoutMs: number;
}

export type DeliveryOutcome =
  | Accepted
  | Exclude<Body, { outcome: 'read' }>
  | { outcome: 'no_usable_secret' }
  | { outcome: 'refused'; reason: Reason }
  | Extract<Greeted, { outcome: 'handshake' }>
  | Extract<Identified, { outcome: 'unclaimable' }>
  | { outcome: 'not_held' };

export interface Accepted {
  readonly outcome: 'accepted' | 'duplicate';
  readonly eventIds: readonly string[];
  /** Events that this delivery brought: they are in Postgres now, or on the queue. */
  readonly accepted: number;
  readonly duplicate: number;
  /** How many of the accepted are suspected replays. */
  readonly parked: number;
  readonly forwarded?: true;
}

/**
 * Far above the size of most events, and small enough that a Worker's 128 MB can hold several such bodies in several
 * forms. Some providers send more: they, or a source, set their own limit.
 */
const MAX_BYTES = 1024 * 1024;

const NO_BYTES = new Uint8Array();

/** The path of one delivery. A sender that has not signed anything gets no memory: its body is not read. */
export async function receive(
  request: Request,
  name: string,
  source: Source,
  env: ReceiverEnv,
  dependencies: ReceiveDependencies,
): Promise<DeliveryOutcome> {
  const secrets = secretsOf(name, env);
  if (secrets.length === 0) return { outcome: 'no_usable_secret' };
  const { method, headers } = request;
  const head = { method, url: publicUrl(source, request), headers, body: NO_BYTES };
  if (isUnsigned(source, head)) return { outcome: 'refused', reason: 'signature missing' };

  const { budget } = dependencies;
  const maxBytes = source.maxBytes ?? source.provider.maxBytes ?? MAX_BYTES;
  const body = await readBody(request, maxBytes, BODY_DEADLINE_MS, budget);
  if (body.outcome !== 'read') return body;
  try {
    const delivery = new DeliveryWithJson({ ...head, body: body.bytes });
    return await verifyAndClaim(delivery, name, source, secrets, env, dependencies);
  } finally {
    budget.giveBack(body.held);
  }
}

/** Whether a delivery can be refused without its body: its signature is missing, and nothing unsigned is expected. */
function isUnsigned(source: Source, head: Delivery): boolean {
  const places = signaturePlaces(source.provider);
  const inBody = places.some((place) => place.startsWith('json:') || place.startsWith('form:'));
  const mayGreet = unsignedHandshakes(source).some(({ method }) => method === head.method);
  return !inBody && !mayGreet && valuesAt(places, head).length === 0;
}

/** In this order: bytes before text, verify before parse, claim before ack. */
async function verifyAndClaim(
  delivery: DeliveryWithJson,
  name: string,
  source: Source,
  secrets: readonly string[],
  env: ReceiverEnv,
  { now, log, claimTimeoutMs }: ReceiveDependencies,
): Promise<DeliveryOutcome> {
  const { provider } = source;
  // The body is complete now. Reading it took time, and a signed time must be fresh at the end of it.
  const receivedAt = now();
  const verifyToken = verifyTokenOf(name, env);
  const greeted = await greetUnsigned(source, delivery, { secret: secrets[0] ?? '', verifyToken });
  if (greeted) return greeted;
  const verdict = await verify(provider, delivery, secrets, receivedAt);
  if (verdict.outcome === 'refused') {
    // A secret in the wrong form is our mistake, like a missing one. After a 401, some senders would give the event up.
    return verdict.reason === 'secret malformed' ? { outcome: 'no_usable_secret' } : verdict;
  }

  const confirmed = await greetSigned(source, delivery, { secret: secrets[verdict.secretIndex] ?? '', verifyToken });
  if (confirmed) return confirmed;
  const identified = await identify(source, delivery);
  if (identified.outcome === 'unclaimable') return identified;
  const { events } = identified;
  const eventIds = events.map(({ eventId }) => eventId);
  // A heartbeat, or a test of the address: there is nothing to claim.
  if (events.length === 0) return { outcome: 'accepted', eventIds, accepted: 0, duplicate: 0, parked: 0 };

  const headers = keptHeaders(provider, delivery.headers);
  const held = await claimOrForward({ source: name, events, headers, receivedAt }, env, log, claimTimeoutMs);
  switch (held.outcome) {
    case 'claimed': {
      const parked = held.claims.parked.length;
      const accepted = held.claims.claimed.length + parked;
      const outcome = accepted > 0 ? 'accepted' : 'duplicate';
      return { outcome, eventIds, accepted, duplicate: events.length - accepted, parked };
    }
    case 'forwarded':
      return { outcome: 'accepted', eventIds, accepted: events.length, duplicate: 0, parked: 0, forwarded: true };
    case 'not_held':
      return held;
  }
}
