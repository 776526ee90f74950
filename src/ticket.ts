import type { Log } from './log.ts';

/** What travels on the queue: the key of a claimed event, never its body. */
export interface Ticket {
  readonly source: string;
  readonly id: string;
}

export function isTicket(body: unknown): body is Ticket {
  const ticket = body as Partial<Ticket> | null;
  return typeof ticket?.source === 'string' && typeof ticket.id === 'string';
}

/** One string per key. A separator of our own could stand in an id; JSON's can't. */
export function keyOf({ source, id }: Ticket): string {
  return JSON.stringify([source, id]);
}

/** A queue takes no more than this many messages in one call. */
const MAX_BATCH = 100;

/**
 * Resolves once the queue has written the tickets. A queue that fails is not an error here:
 * the claims are durable, and the sweep sends again what is overdue.
 */
export async function sendTickets(queue: Queue, tickets: readonly Ticket[], log: Log): Promise<void> {
  for (let start = 0; start < tickets.length; start += MAX_BATCH) {
    try {
      await queue.sendBatch(tickets.slice(start, start + MAX_BATCH).map((body) => ({ body })));
    } catch {
      log({ at: 'tickets', outcome: 'not sent', tickets: tickets.length - start });
      return;
    }
  }
}
