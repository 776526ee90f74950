import type { Source } from '../kit/index.ts';
import type { Log } from '../log.ts';
import { type Reason, verify } from '../verify/index.ts';
import { readBody } from './body.ts';
import { claimOrForward } from './claim-or-forward.ts';
import { type Greeted, greetSigned, greetUnsigned, signerAmong } from './handshake.ts';
import { type Identified, identify, keptHeaders } from './identify.ts';
import { publicUrl } from './public-url.ts';
import { secretsOf, verifyTokenOf } from './secrets.ts';

export type Outcome =
  | Accepted
  | { outcome: 'too_large' }
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
  const delivery = { method, url: publicUrl(source, request), headers, body: body.bytes };
  const known = {
    secret: secrets[0] ?? '',
    verifyToken: verifyTokenOf(name, env),
    signer: () => signerAmong(secrets, provider, delivery, now),
  };
  const greeted = await greetUnsigned(source, delivery, known);
  if (greeted) return greeted;
  const verdict = await verify(provider, delivery, secrets, now);
  if (verdict.outcome === 'refused') {
    // Our mistake, like a missing one: a 401 would make some senders give the event up.
    return verdict.reason === 'secret malformed' ? { outcome: 'no_usable_secret' } : verdict;
  }

  const confirmed = await greetSigned(source, delivery, known);
  if (confirmed) return confirmed;
  const identified = await identify(source, delivery);
  if (identified.outcome === 'unclaimable') return identified;
  const { events } = identified;
  const eventIds = events.map(({ eventId }) => eventId);
  // A heartbeat, or a test of the address: there is nothing to claim.
  if (events.length === 0) return { outcome: 'accepted', eventIds, accepted: 0, duplicate: 0, parked: 0 };

  const verified = { source: name, events, headers: keptHeaders(provider, headers), receivedAt: now };
  const held = await claimOrForward(verified, env, log);
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
