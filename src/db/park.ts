import { sql } from 'drizzle-orm';
import type { Ticket } from '../queue/tickets.ts';
import { type Database, run } from './client.ts';

/** Parks events that never got as far as a handler's answer. No attempt is counted, and what is finished stays so. */
export async function park(db: Database, tickets: readonly Ticket[], error: string, now: Date): Promise<Ticket[]> {
  if (tickets.length === 0) return [];
  return run<{ source: string; id: string }>(
    db,
    sql`
    update webhook_events event
    set status = 'parked', last_error = ${error}, finished_at = ${now.toISOString()}::timestamptz
    from unnest(${sql.param(tickets.map((ticket) => ticket.source))}::text[],
                ${sql.param(tickets.map((ticket) => ticket.id))}::text[]) as ticket (source, event_id)
    where (event.source, event.event_id) = (ticket.source, ticket.event_id) and event.status = 'pending'
    returning event.source, event.event_id as id`,
  );
}
