import { type Claims, claim } from '../db/claim.ts';
import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { MAX_REPLAYS } from '../db/park-replays.ts';
import { traceFields } from '../encoding/traceparent.ts';
import { errorFields, eventIdFields, type Log } from '../log.ts';
import { type Forwarded, pack } from '../queue/forwarded.ts';
import { isWritten, sendTickets } from '../queue/send.ts';
import { withTimeLimit } from '../time-limit.ts';

/** Where the events of a verified delivery are now: claimed in Postgres, on the queue until Postgres is back, or nowhere. */
export type Held = { outcome: 'claimed'; claims: Claims } | { outcome: 'forwarded' } | { outcome: 'not_held' };

/** Some senders wait three seconds for our answer (Slack, Zoom, Discord), and the queue needs up to one of them. */
export const CLAIM_TIMEOUT_MS = 1500;

/**
 * Claims the events of a delivery. If Postgres can't take them in time, the whole delivery goes on the queue. The claim is
 * not aborted: the runtime ends it after the answer. If it commits all the same, the consumer finds its events claimed, and
 * works them.
 */
export async function claimOrForward(
  delivery: Forwarded,
  env: ReceiverEnv,
  log: Log,
  timeoutMs: number,
): Promise<Held> {
  const { source, events, headers } = delivery;
  const about = (eventIds: readonly string[]) => ({
    source,
    ...eventIdFields(eventIds),
    ...traceFields(headers.traceparent),
  });
  try {
    const claiming = claimWithSecondTry(delivery, env);
    const { claims, pending } = await withTimeLimit(timeoutMs, claiming, () => {
      throw new DatabaseError('Postgres did not answer in time', { retryable: true });
    });
    if (claims.dropped.length > 0) {
      log({ step: 'claim', outcome: 'too_many_replays', ...about(claims.dropped), limit: MAX_REPLAYS });
    }
    const tickets = pending.map((eventId) => ({ source, eventId }));
    if (!(await sendTickets(env.EVENTS, tickets))) log({ step: 'tickets', outcome: 'not_sent', ...about(pending) });
    return { outcome: 'claimed', claims };
  } catch (error) {
    const mistake = DatabaseError.isCauseOf(error) ? {} : errorFields(error);
    const reason = DatabaseError.from(error).message;
    log({ step: 'claim', outcome: 'failed', ...about(events.map(({ eventId }) => eventId)), reason, ...mistake });
  }
  const message = await pack(delivery);
  const forwarded = message && (await isWritten(env.EVENTS.send(message, { contentType: 'bytes' })));
  return { outcome: forwarded ? 'forwarded' : 'not_held' };
}

/** Both tries share the time limit of the caller. `pending` are the events that need a ticket. */
async function claimWithSecondTry(
  { source, events, headers, receivedAt }: Forwarded,
  env: ReceiverEnv,
): Promise<{ claims: Claims; pending: readonly string[] }> {
  const db = openDatabase(env.DATABASE_URL, null);
  const attempt = () => claim(db, source, events, headers, receivedAt);
  try {
    const claims = await attempt();
    return { claims, pending: claims.claimed };
  } catch (error) {
    if (!DatabaseError.from(error).retryable) throw error;
    const claims = await attempt();
    // The first try may have committed although its answer was lost. Then its events are known now and have no tickets.
    const settled = new Set([...claims.parked, ...claims.dropped]);
    const pending = events.map(({ eventId }) => eventId).filter((eventId) => !settled.has(eventId));
    return { claims, pending };
  }
}
