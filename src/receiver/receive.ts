import type { Source } from '../app/define.ts';
import { claim } from '../db/claim.ts';
import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import type { Log } from '../log.ts';
import { type Reason, verify } from '../providers/verify.ts';
import { sendTickets } from '../ticket.ts';
import { readBody } from './body.ts';
import { type Identified, identify, keptHeaders } from './identify.ts';
import { secretsOf } from './secrets.ts';

export type Outcome =
  | { outcome: 'accepted' | 'duplicate'; ids: string[]; accepted: number; duplicate: number }
  | { outcome: 'too large' }
  | { outcome: 'no secret' }
  | { outcome: 'refused'; reason: Reason }
  | Extract<Identified, { outcome: 'unclaimable' }>
  | { outcome: 'not held'; reason: string };

/** As much as any provider sends in one delivery, with room; a source may set its own. */
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
  const body = await readBody(request, source.maxBytes ?? MAX_BYTES);
  if (body.outcome === 'too large') return body;

  const secrets = secretsOf(name, env);
  if (secrets.length === 0) return { outcome: 'no secret' };
  const { method, url, headers } = request;
  const verdict = await verify(source.provider, { method, url, headers, body: body.bytes }, secrets, now);
  if (verdict.outcome === 'refused') return verdict;

  const identified = await identify(source, headers, body.bytes);
  if (identified.outcome === 'unclaimable') return identified;

  try {
    const { events } = identified;
    const db = openDatabase(env.DATABASE_URL, AbortSignal.timeout(CLAIM_TIMEOUT_MS));
    const { claimed, overdue } = await claim(db, name, events, keptHeaders(source.provider, headers), now);
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
