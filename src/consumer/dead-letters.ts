import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { park } from '../db/park.ts';
import { parkEffects } from '../db/park-effects.ts';
import { unpack } from '../queue/forwarded.ts';
import { isEffectTicket, isTicket } from '../queue/tickets.ts';
import { claimForwarded } from './forwarded.ts';
import type { ConsumerParts } from './parts.ts';

const ERROR =
  'the queue gave up: the ticket was delivered too often without an answer, as when a handler kills its isolate, or Postgres is away for days';

/** A hundred of these are longer than any queue keeps a message: nothing is deleted for having been delivered too often. */
const WAIT_SECONDS = 4 * 3600;

/**
 * What the queues gave up becomes parked rows. A forwarded delivery is claimed instead: it is here because Postgres was
 * away for days, and nobody has tried it yet. The sweep sends its ticket.
 */
export async function parkDeadLetters(
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  { now, log }: ConsumerParts,
): Promise<void> {
  const started = now();
  const bodies = batch.messages.map(({ body }) => body);
  try {
    const db = openDatabase(env.DATABASE_URL);
    for (const body of bodies) {
      const forwarded = await unpack(body);
      if (forwarded) await claimForwarded(db, forwarded);
      else if (!isTicket(body)) log({ at: 'dead letter', outcome: 'unreadable' });
    }
    const parked = batch.queue.includes('effects')
      ? await parkEffects(db, bodies.filter(isEffectTicket), ERROR)
      : await park(db, bodies.filter(isTicket), ERROR, started);
    const ms = now().getTime() - started.getTime();
    for (const { source, id } of parked) log({ at: 'dead letter', source, event_id: id, outcome: 'parks', ms });
    batch.ackAll();
  } catch (error) {
    const { message: reason } = DatabaseError.from(error);
    log({ at: 'dead letter', outcome: 'waits', reason });
    for (const message of batch.messages) message.retry({ delaySeconds: WAIT_SECONDS });
  }
}
