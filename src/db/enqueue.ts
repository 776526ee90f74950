import { TICKET_GRACE_MS, type Ticket } from '../queue/tickets.ts';
import type { Database, Statement } from './client.ts';
import { webhookEffects } from './schema.ts';

/** Writes an effect into the outbox, for the transaction that completes its event. A second run can't add a second one. */
export function enqueue(
  db: Database,
  { source, id }: Ticket,
  effect: { readonly name: string; readonly kind: string; readonly payload: unknown },
  now: Date,
): Statement {
  return db
    .insert(webhookEffects)
    .values({
      source,
      eventId: id,
      name: effect.name,
      kind: effect.kind,
      payload: JSON.stringify(effect.payload) ?? 'null',
      dueAt: new Date(now.getTime() + TICKET_GRACE_MS),
    })
    .onConflictDoNothing();
}
