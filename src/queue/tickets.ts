/** What travels on the queues: the key of a claimed event, or of one of its effects; never a body. */
export interface Ticket {
  readonly source: string;
  readonly id: string;
}

export interface EffectTicket extends Ticket {
  /** The effect's name among those of its event. */
  readonly name: string;
}

export function isTicket(body: unknown): body is Ticket {
  const ticket = body as Partial<Ticket> | null;
  return typeof ticket?.source === 'string' && typeof ticket.id === 'string';
}

export function isEffectTicket(body: unknown): body is EffectTicket {
  return isTicket(body) && 'name' in body && typeof body.name === 'string';
}

/** One string per key. A separator of our own could stand in an id; JSON's can't. */
export function keyOf({ source, id, name }: Ticket & { readonly name?: string }): string {
  return JSON.stringify([source, id, name]);
}

/**
 * How long a ticket may take until what it stands for counts as overdue. Longer than a queue's usual backlog,
 * shorter than the sweep's interval.
 */
export const TICKET_GRACE_MS = 10 * 60_000;

/** A queue takes no more than this many messages in one call. */
const MAX_BATCH = 100;

/** A queue that needs longer is not well, and a sender waits for us. */
const SEND_TIMEOUT_MS = 1000;

/**
 * Resolves to true once the queue has written all tickets. A queue that fails is no error here: what the tickets
 * stand for is in Postgres, and the sweep sends again what is overdue.
 */
export async function sendTickets(queue: Queue, tickets: readonly Ticket[]): Promise<boolean> {
  const chunks = Array.from({ length: Math.ceil(tickets.length / MAX_BATCH) }, (_, n) =>
    tickets.slice(n * MAX_BATCH, (n + 1) * MAX_BATCH).map((body) => ({ body })),
  );
  // Side by side: however many there are, they share one limit of time.
  return written(Promise.all(chunks.map((chunk) => queue.sendBatch(chunk))));
}

/** Whether a queue's promise was kept in time. */
export async function written(sending: Promise<unknown>): Promise<boolean> {
  const { promise: timeUp, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), SEND_TIMEOUT_MS);
  const sent = sending.then(
    () => true,
    () => false,
  );
  return Promise.race([sent, timeUp]).finally(() => clearTimeout(timer));
}
