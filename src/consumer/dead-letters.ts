import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { park } from '../db/park.ts';
import { parkEffects } from '../db/park-effects.ts';
import { isEffectTicket } from '../ticket.ts';
import { eventsOf } from './events.ts';
import type { ConsumerParts } from './parts.ts';
import { settle } from './settle.ts';

const ERROR =
  'the queue gave up: the ticket was delivered too often without an answer, as when a handler kills its isolate';

/** What the queues gave up becomes parked rows. A forwarded delivery is claimed even now: it is nowhere else. */
export async function parkDeadLetters(
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  { now, random, log }: ConsumerParts,
): Promise<void> {
  const started = now();
  try {
    const db = openDatabase(env.DATABASE_URL);
    const parked = batch.queue.includes('effects')
      ? await parkEffects(db, batch.messages.map(({ body }) => body).filter(isEffectTicket), ERROR)
      : await parkEvents(db, batch, started);
    const ms = now().getTime() - started.getTime();
    for (const { source, id } of parked) {
      log({ at: 'dead letter', source, event_id: id, outcome: 'parks', ms });
    }
    batch.ackAll();
  } catch (error) {
    const { message: reason } = DatabaseError.from(error);
    log({ at: 'dead letter', outcome: 'waits', reason });
    for (const message of batch.messages) settle(message, [{ outcome: 'waits', reason }], random());
  }
}

async function parkEvents(db: Database, batch: MessageBatch<unknown>, now: Date) {
  const events = await Promise.all(batch.messages.map(({ body }) => eventsOf(body, db)));
  return park(db, events.flat(), ERROR, now);
}
