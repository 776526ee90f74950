import { sql } from 'drizzle-orm';
import type { EffectTicket } from '../queue/tickets.ts';
import { type Database, run } from './client.ts';

/** Parks effects that never got as far as an answer. What is sent stays sent. */
export async function parkEffects(
  db: Database,
  tickets: readonly EffectTicket[],
  error: string,
): Promise<EffectTicket[]> {
  const column = (read: (ticket: EffectTicket) => string) => sql.param(tickets.map(read));
  return run<EffectTicket & Record<string, unknown>>(
    db,
    sql`
    update webhook_effects effect set status = 'parked', last_error = ${error}
    from unnest(${column((ticket) => ticket.source)}::text[], ${column((ticket) => ticket.id)}::text[],
                ${column((ticket) => ticket.name)}::text[]) as ticket (source, event_id, name)
    where (effect.source, effect.event_id, effect.name) = (ticket.source, ticket.event_id, ticket.name)
      and effect.status = 'pending'
    returning effect.source, effect.event_id as id, effect.name`,
  );
}
