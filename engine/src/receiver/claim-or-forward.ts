import { type ClaimRequest, type ClaimResult, claim, findOverdue } from '../db/claim.ts';
import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { pack } from '../queue/forwarded.ts';
import { isWritten, sendTickets } from '../queue/tickets.ts';
import { errorFields, eventIdFields, type Log } from '../shared/log.ts';
import type { ReceiverBindings } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { traceFields } from '../shared/trace.ts';

/** Where the events of a verified delivery are now: in Postgres, on the queue until Postgres is back, or nowhere. */
export type ClaimOutcome =
  | { outcome: 'claimed'; eventIds: readonly string[]; claims: ClaimResult }
  | { outcome: 'forwarded'; eventIds: readonly string[] }
  /** These were refused. Other events of the delivery may be claimed: they are duplicates when it comes again. */
  | { outcome: 'too_many_replays'; eventIds: readonly string[] }
  | { outcome: 'not_held' }
  | { outcome: 'no_database_url' };

/** Slack, Zoom and Discord wait three seconds for an answer. After this time, the queue still needs up to one second. */
export const CLAIM_TIMEOUT_MS = 1500;

/**
 * Claims the events of a delivery. If Postgres can't take them in time, the whole delivery goes on the queue. The claim
 * is not aborted: the runtime drops its request after the answer, and Neon then cancels the statement. If that is lost, the
 * role's `statement_timeout` ends it after 15 s (engine/cli/database/worker-roles.ts). If it commits anyway, the consumer finds
 * its events claimed, and works them.
 */
export async function claimOrForward(
  request: ClaimRequest,
  env: ReceiverBindings,
  log: Log,
  timeoutMs: number,
): Promise<ClaimOutcome> {
  const { source, tenant, headers } = request;
  let db: Database;
  try {
    db = openDatabase(env.DATABASE_URL, 'none');
  } catch {
    // On the queue, the events would wait for a database that was never configured.
    return { outcome: 'no_database_url' };
  }
  const eventIds = request.events.map(({ eventId }) => eventId);
  const about = (ids: readonly string[]) => ({
    source,
    tenant,
    ...eventIdFields(ids),
    ...traceFields(headers.traceparent),
  });
  try {
    const { claims, pending } = await withTimeLimit(timeoutMs, claimWithSecondTry(db, request), () => {
      throw new DatabaseError('Postgres did not answer in time', { retryable: true });
    });
    const tickets = pending.map((eventId) => ({ source, eventId }));
    if (!(await sendTickets(env.EVENTS, tickets))) log({ step: 'tickets', outcome: 'not_sent', ...about(pending) });
    if (claims.refused.length > 0) return { outcome: 'too_many_replays', eventIds: claims.refused };
    return { outcome: 'claimed', eventIds, claims };
  } catch (error) {
    const mistake = DatabaseError.isFromDatabase(error) ? {} : errorFields(error);
    log({
      step: 'claim',
      outcome: 'failed',
      ...about(eventIds),
      reason: DatabaseError.fromThrown(error).message,
      ...mistake,
    });
  }
  const message = await pack(request);
  const isForwarded = message && (await isWritten(env.EVENTS.send(message, { contentType: 'bytes' })));
  return isForwarded ? { outcome: 'forwarded', eventIds } : { outcome: 'not_held' };
}

/** Both tries share the time limit of the caller. `pending` are the events that need a ticket. */
async function claimWithSecondTry(
  db: Database,
  request: ClaimRequest,
): Promise<{ claims: ClaimResult; pending: readonly string[] }> {
  try {
    const claims = await claim(db, request);
    return { claims, pending: claims.claimed };
  } catch (error) {
    if (!DatabaseError.fromThrown(error).retryable) throw error;
    const claims = await claim(db, request);
    // The first try may have committed although its answer was lost. Then its events are known now and have no tickets.
    return { claims, pending: [...claims.claimed, ...claims.known] };
  }
}

/**
 * Sends the tickets of duplicates again, because the first may be lost. No sender waits for this, so it comes after the
 * answer. If it fails, the sweep sends them.
 */
export async function sendOverdueTickets(
  source: string,
  eventIds: readonly string[],
  env: ReceiverBindings,
  now: Date,
  log: Log,
): Promise<void> {
  try {
    const overdue = await findOverdue(openDatabase(env.DATABASE_URL), source, eventIds, now);
    const tickets = overdue.map((eventId) => ({ source, eventId }));
    const isSent = await sendTickets(env.EVENTS, tickets);
    if (!isSent) log({ step: 'tickets', outcome: 'not_sent', source, ...eventIdFields(overdue) });
  } catch (error) {
    const { message: reason } = DatabaseError.fromThrown(error);
    log({ step: 'tickets', outcome: 'look_up_failed', source, ...eventIdFields(eventIds), reason });
  }
}
