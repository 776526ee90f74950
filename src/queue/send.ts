import { MESSAGE_VERSION, type Ticket } from './tickets.ts';

/** The most messages that a queue takes in one call. */
const MAX_BATCH = 100;

/** Give up on a slow queue after this time, because the provider waits for our answer. */
const SEND_TIMEOUT_MS = 1000;

/**
 * Resolves to true if the queue has written all tickets in time. A failure is not an error: the events are in Postgres,
 * and the sweep sends the tickets of overdue events again.
 */
export async function sendTickets(queue: Queue, tickets: readonly Ticket[]): Promise<boolean> {
  const chunks = Array.from({ length: Math.ceil(tickets.length / MAX_BATCH) }, (_, n) =>
    tickets.slice(n * MAX_BATCH, (n + 1) * MAX_BATCH).map((key) => ({ body: { version: MESSAGE_VERSION, ...key } })),
  );
  // At the same time, so that a delivery of many events stays within the time limit of one call.
  return isWritten(Promise.all(chunks.map((chunk) => queue.sendBatch(chunk))));
}

/** Whether a call to a queue succeeded in time. */
export async function isWritten(sending: Promise<unknown>): Promise<boolean> {
  const { promise: timeUp, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), SEND_TIMEOUT_MS);
  const sent = sending.then(
    () => true,
    () => false,
  );
  return Promise.race([sent, timeUp]).finally(() => clearTimeout(timer));
}
