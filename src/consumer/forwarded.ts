import { claim } from '../db/claim.ts';
import type { Database } from '../db/client.ts';
import type { Forwarded } from '../queue/forwarded.ts';
import type { Ticket } from '../queue/tickets.ts';

/** Claims what Postgres could not take when it came. Its copies collapse here as they would have then. */
export async function claimForwarded(
  db: Database,
  { source, events, headers, receivedAt }: Forwarded,
): Promise<Ticket[]> {
  await claim(db, source, events, headers, receivedAt);
  return events.map(({ eventId: id }) => ({ source, id }));
}
