import { claim } from '../db/claim.ts';
import type { Database } from '../db/client.ts';
import { isErased } from '../db/erase.ts';
import { DatabaseError } from '../db/errors.ts';
import type { EventKey } from '../db/keys.ts';
import { type ForwardedDelivery, unpack } from '../queue/forwarded.ts';
import { isTicket, reasonUnreadable } from '../queue/tickets.ts';
import { eventIdFields, type Log, type LogLine } from '../shared/log.ts';
import type { Message } from '../shared/runtime.ts';

export interface MessageContents {
  readonly events: readonly EventKey[];
  /** Whether something in the message can't be read or claimed. The log says what. */
  readonly unreadable: boolean;
}

/** Reads a message. If it is a forwarded delivery, its events are claimed. */
export async function readMessage({ body, attempts }: Message, db: Database, log: Log): Promise<MessageContents> {
  if (isTicket(body)) return { events: [{ source: body.source, eventId: body.eventId }], unreadable: false };
  const forwarded = await unpack(body);
  if (forwarded) return claimForwarded(db, forwarded, log, 'completion');
  log({ step: 'completion', outcome: 'unreadable', ...reasonUnreadable(body), ticket_deliveries: attempts });
  return { events: [], unreadable: true };
}

/** The largest integer of Postgres. */
const EVERY_REPLAY = 2_147_483_647;

/**
 * Claims a delivery that Postgres could not take when it arrived. An event that is claimed already stays as it is. What came for
 * a tenant before it was erased is dropped, or its body would be there again.
 */
export async function claimForwarded(
  db: Database,
  { unreadable, ...request }: ForwardedDelivery,
  log: Log,
  step: LogLine['step'],
): Promise<MessageContents> {
  const { source, tenant, receivedAt } = request;
  const ids = request.events.map(({ eventId }) => eventId);
  const logUnreadable = (eventIds: readonly string[], reason: string) =>
    log({ step, outcome: 'unreadable', source, ...eventIdFields(eventIds), reason });
  if (unreadable.length > 0) logUnreadable(unreadable, 'not a forwarded event as this version knows it');
  if (ids.length === 0) return { events: [], unreadable: true };
  if (tenant !== undefined && (await isErased(db, { source, tenant }, receivedAt))) {
    log({ step, outcome: 'erased', source, tenant, ...eventIdFields(ids) });
    return { events: [], unreadable: false };
  }
  try {
    // It was answered 200, so nothing of it may be refused.
    const { claimed, known, parked } = await claim(db, request, EVERY_REPLAY);
    const keys = [...claimed, ...known, ...parked];
    return { events: keys.map((eventId) => ({ source, eventId })), unreadable: unreadable.length > 0 };
  } catch (error) {
    const { isAboutData, message } = DatabaseError.fromThrown(error);
    if (!isAboutData) throw error;
    logUnreadable(ids, message);
    return { events: [], unreadable: true };
  }
}
