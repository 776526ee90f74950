import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { park } from '../db/park.ts';
import { isTicket } from '../ticket.ts';
import { backoff } from './backoff.ts';
import type { ConsumerParts } from './events.ts';

/** The queue gave these tickets up: most likely their handler kills or hangs the isolate. Their events are parked. */
export async function parkDeadLetters(
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  { now, log }: ConsumerParts,
): Promise<void> {
  const tickets = batch.messages.map(({ body }) => body).filter(isTicket);
  const started = now();
  try {
    const error = `the queue gave up after ${batch.queue.replace(/-dead$/, '')} had delivered the ticket too often`;
    for (const { source, id } of await park(openDatabase(env.DATABASE_URL), tickets, error, started)) {
      const ms = now().getTime() - started.getTime();
      log({ at: 'completion', source, event_id: id, outcome: 'parks', reason: 'dead letter', ms });
    }
    batch.ackAll();
  } catch (error) {
    log({ at: 'consumer', outcome: 'waits', reason: DatabaseError.from(error).message, tickets: tickets.length });
    for (const message of batch.messages) message.retry({ delaySeconds: backoff(message.attempts, Math.random()) });
  }
}
