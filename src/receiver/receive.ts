import type { Source } from '../app/define.ts';
import { claim } from '../db/claim.ts';
import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import type { Log } from '../log.ts';
import { type Reason, verify } from '../providers/verify.ts';
import { sendTickets } from '../ticket.ts';
import { readBody } from './body.ts';
import { type Greeted, greetSigned, greetUnsigned } from './handshake.ts';
import { type Identified, identify, keptHeaders } from './identify.ts';
import { publicUrl } from './public-url.ts';
import { secretsOf, verifyTokenOf } from './secrets.ts';

export type Outcome =
  | { outcome: 'accepted' | 'duplicate'; ids: string[]; accepted: number; duplicate: number }
  | { outcome: 'too large' }
  | { outcome: 'no secret' }
  | { outcome: 'refused'; reason: Reason }
  | Extract<Greeted, { outcome: 'handshake' }>
  | Extract<Identified, { outcome: 'unclaimable' }>
  | { outcome: 'not held'; reason: string };

/** As much as any provider sends in one delivery, with room; a provider or a source may set its own. */
const MAX_BYTES = 1024 * 1024;

/** A claim that takes longer is given up: a sender must have its answer within three seconds (Slack, Zoom, Discord). */
const CLAIM_TIMEOUT_MS = 1500;

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
  if (body.outcome === 'too large') return body;

  const secrets = secretsOf(name, env);
  if (secrets.length === 0) return { outcome: 'no secret' };
  const { method, headers } = request;
  const delivery = { method, url: publicUrl(source, request), headers, body: body.bytes };
  const known = { secret: secrets[0] ?? '', verifyToken: verifyTokenOf(name, env) };
  const greeted = await greetUnsigned(source, delivery, known);
  if (greeted) return greeted;
  const verdict = await verify(provider, delivery, secrets, now);
  if (verdict.outcome === 'refused') return verdict;

  const confirmed = await greetSigned(source, delivery, known);
  if (confirmed) return confirmed;
  const identified = await identify(source, delivery);
  if (identified.outcome === 'unclaimable') return identified;
  // A heartbeat, or a test of the address: there is nothing to hold.
  if (identified.events.length === 0) return { outcome: 'accepted', ids: [], accepted: 0, duplicate: 0 };

  try {
    const { events } = identified;
    const db = openDatabase(env.DATABASE_URL, AbortSignal.timeout(CLAIM_TIMEOUT_MS));
    const { claimed, overdue } = await claim(db, name, events, keptHeaders(provider, headers), now);
    const tickets = [...claimed, ...overdue].map((id) => ({ source: name, id }));
    await sendTickets(env.EVENTS, tickets, log);
    return {
      outcome: claimed.length > 0 ? 'accepted' : 'duplicate',
      ids: events.map((event) => event.eventId),
      accepted: claimed.length,
      duplicate: events.length - claimed.length,
    };
  } catch (error) {
    return { outcome: 'not held', reason: DatabaseError.from(error).message };
  }
}
