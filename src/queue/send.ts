import { withTimeLimit } from '../time-limit.ts';
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
  if (tickets.length === 0) return true;
  const messages = tickets.map((key) => ({ body: { version: MESSAGE_VERSION, ...key } }));
  // At the same time, so that a delivery of many events stays within the time limit of one call.
  const sending: Promise<unknown>[] = [];
  for (let n = 0; n < messages.length; n += MAX_BATCH) sending.push(queue.sendBatch(messages.slice(n, n + MAX_BATCH)));
  return isWritten(Promise.all(sending));
}

/** Whether a call to a queue succeeded in time. */
export async function isWritten(sending: Promise<unknown>): Promise<boolean> {
  const sent = sending.then(
    () => true,
    () => false,
  );
  return withTimeLimit(SEND_TIMEOUT_MS, sent, () => false);
}
