import { claim } from '../db/claim.ts';
import type { Database } from '../db/client.ts';
import type { EventKey } from '../db/keys.ts';
import { type Forwarded, unpack } from '../queue/forwarded.ts';
import { isTicket } from '../queue/tickets.ts';

/** The events that a message is about. `undefined` if it is neither a ticket nor a forwarded delivery. */
export async function eventsOf(message: unknown, db: Database): Promise<EventKey[] | undefined> {
  if (isTicket(message)) return [{ source: message.source, eventId: message.eventId }];
  const forwarded = await unpack(message);
  return forwarded && claimForwarded(db, forwarded);
}

/** Claims a delivery that Postgres could not take when it arrived. An event that was claimed meanwhile stays as it is. */
export async function claimForwarded(db: Database, forwarded: Forwarded): Promise<EventKey[]> {
  const { source, events, headers, receivedAt } = forwarded;
  await claim(db, source, events, headers, receivedAt);
  return events.map(({ eventId }) => ({ source, eventId }));
}
