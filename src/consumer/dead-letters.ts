import { openDatabase } from '../db/client.ts';
import { parkEffects } from '../db/effects.ts';
import { DatabaseError } from '../db/errors.ts';
import { parkEvents } from '../db/fail.ts';
import { QUEUE_GAVE_UP } from '../db/parked-reasons.ts';
import { unpack } from '../queue/forwarded.ts';
import { isEffectTicket, isTicket } from '../queue/tickets.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { claimForwarded } from './messages.ts';

const ERROR = `${QUEUE_GAVE_UP}: the ticket was delivered too often without an answer, as when a handler kills its isolate, or Postgres is away for days`;

/** 100 retries x 4 h exceed the queue's retention, so `max_retries` never deletes a message. */
const WAIT_SECONDS = 4 * 3600;

/**
 * Parks the events or effects whose tickets the queue gave up. A forwarded delivery is claimed instead: it is here
 * because Postgres was away for days, and nobody has tried it yet. The sweep sends its ticket.
 */
export async function parkDeadLetters(
  kind: 'events' | 'effects',
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  { now, log }: ConsumerDependencies,
): Promise<void> {
  const started = now();
  const bodies = batch.messages.map(({ body }) => body);
  try {
    const db = openDatabase(env.DATABASE_URL);
    for (const body of bodies) {
      const forwarded = await unpack(body);
      if (forwarded) await claimForwarded(db, forwarded);
      else if (!isTicket(body)) log({ step: 'dead_letter', outcome: 'unreadable' });
    }
    const parked =
      kind === 'effects'
        ? await parkEffects(db, bodies.filter(isEffectTicket), ERROR)
        : await parkEvents(db, bodies.filter(isTicket), ERROR, started);
    const ms = now().getTime() - started.getTime();
    for (const { source, eventId } of parked) {
      log({ step: 'dead_letter', source, event_id: eventId, outcome: 'parked', ms });
    }
    batch.ackAll();
  } catch (error) {
    const { message: reason } = DatabaseError.from(error);
    log({ step: 'dead_letter', outcome: 'database_unavailable', reason });
    for (const message of batch.messages) message.retry({ delaySeconds: WAIT_SECONDS });
  }
}
