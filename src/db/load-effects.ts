import { sql } from 'drizzle-orm';
import type { EffectTicket } from '../queue/tickets.ts';
import { type Database, run } from './client.ts';

export interface LoadedEffect extends EffectTicket {
  readonly kind: string;
  readonly payload: string;
  readonly status: 'pending' | 'sent' | 'parked';
  readonly attempts: number;
}

/** Loads the effects of a batch of tickets in one query. */
export async function loadEffects(db: Database, tickets: readonly EffectTicket[]): Promise<LoadedEffect[]> {
  const column = (read: (ticket: EffectTicket) => string) => sql.param(tickets.map(read));
  return run<LoadedEffect & Record<string, unknown>>(
    db,
    sql`
    select source, event_id as id, name, kind, payload, status, attempts
    from unnest(${column((ticket) => ticket.source)}::text[], ${column((ticket) => ticket.id)}::text[],
                ${column((ticket) => ticket.name)}::text[]) as ticket (source, event_id, name)
    join webhook_effects using (source, event_id, name)`,
  );
}
