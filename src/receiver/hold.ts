import { type Claimable, type Claims, claim } from '../db/claim.ts';
import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import type { Log } from '../log.ts';
import { type Forwarded, pack } from '../queue/forwarded.ts';
import { isWritten, sendTickets } from '../queue/send.ts';
import type { Ticket } from '../queue/tickets.ts';

/** How the events of a verified delivery are held: by a claim in Postgres, or on the queue until Postgres is back. */
export type Held = { outcome: 'claimed'; claims: Claims } | { outcome: 'forwarded' } | { outcome: 'not_held' };

/** A claim that takes longer is given up: a sender must have its answer within three seconds (Slack, Zoom, Discord). */
const CLAIM_TIMEOUT_MS = 1500;

export async function hold(delivery: Forwarded, env: ReceiverEnv, log: Log): Promise<Held> {
  const { source } = delivery;
  const tickets = (ids: readonly string[]): Ticket[] => ids.map((eventId) => ({ source, eventId }));
  try {
    const claims = await claimWithSecondTry(delivery, env);
    const sent = await sendTickets(env.EVENTS, tickets([...claims.claimed, ...claims.overdue]));
    if (!sent) log({ step: 'tickets', source, outcome: 'not_sent' });
    return { outcome: 'claimed', claims };
  } catch (error) {
    log({ step: 'claim', source, outcome: 'failed', reason: DatabaseError.from(error).message });
  }
  const message = await pack(delivery);
  const forwarded = message && (await isWritten(env.EVENTS.send(message, { contentType: 'bytes' })));
  return { outcome: forwarded ? 'forwarded' : 'not_held' };
}

/** Both tries share one limit of time. */
async function claimWithSecondTry(
  { source, events, headers, receivedAt }: Forwarded,
  env: ReceiverEnv,
): Promise<Claims> {
  const db = openDatabase(env.DATABASE_URL, AbortSignal.timeout(CLAIM_TIMEOUT_MS));
  const attempt = () => claim(db, source, events, headers, receivedAt);
  try {
    return await attempt();
  } catch (error) {
    if (!DatabaseError.from(error).retryable) throw error;
    const { claimed } = await attempt();
    // The first try may have committed without telling: whatever is not claimed now may be ours, and wait for a ticket.
    return { claimed, overdue: idsOf(events).filter((id) => !claimed.includes(id)) };
  }
}

function idsOf(events: readonly Claimable[]): string[] {
  return events.map(({ eventId }) => eventId);
}
