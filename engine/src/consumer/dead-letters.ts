import { openDatabase } from '../db/client.ts';
import { parkEffects } from '../db/effects.ts';
import { parkEvents } from '../db/events.ts';
import { unpack } from '../queue/forwarded.ts';
import { isEffectTicket, isTicket, reasonUnreadable } from '../queue/tickets.ts';
import type { ConsumerBindings, Message, MessageBatch } from '../shared/runtime.ts';
import { type ConsumerDependencies, workInPortions } from './batch.ts';
import { claimForwarded } from './messages.ts';

const POISON = {
  failure: 'poison',
  error:
    'the queue gave up: the ticket was delivered too often without an answer, as when a handler kills its isolate, or Postgres is away for days',
} as const;

/** 100 retries x 4 h exceed the queue's retention, so `max_retries` never deletes a message. */
const WAIT_SECONDS = 4 * 3600;

/**
 * Parks the events or effects whose tickets the queue gave up. A forwarded delivery is claimed instead: it is here
 * because Postgres was away for days, and nobody has tried it yet. The sweep sends its ticket. A message that can't be
 * read or claimed is kept until the queue's retention ends, with a log line at each try: it may hold events that were
 * answered 200, and a later version of this Worker may be able to read it. Tickets are parked together. Any other
 * message is settled alone and after them, because it may be what kills its isolate.
 */
export async function parkDeadLetters(
  kind: 'events' | 'effects',
  batch: MessageBatch,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now, log } = dependencies;
  const keep = (message: Message) => message.retry({ delaySeconds: WAIT_SECONDS });
  const isOurTicket = kind === 'effects' ? isEffectTicket : isTicket;

  const park = async (tickets: readonly Message[]) => {
    const started = now();
    const db = openDatabase(env.DATABASE_URL);
    const keys = tickets.map(({ body }) => body);
    const parked =
      kind === 'effects'
        ? await parkEffects(db, keys.filter(isEffectTicket), POISON)
        : await parkEvents(db, keys.filter(isTicket), POISON, started);
    const ms = now().getTime() - started.getTime();
    for (const { source, eventId, ...effect } of parked) {
      const result = { outcome: 'parked', failure: POISON.failure, ms };
      log({ step: 'dead_letter', source, event_id: eventId, ...effect, ...result });
    }
    for (const ticket of tickets) ticket.ack();
  };
  const settle = async (message: Message) => {
    const forwarded = await unpack(message.body);
    if (!forwarded) {
      log({ step: 'dead_letter', outcome: 'unreadable', ...reasonUnreadable(message.body) });
      return keep(message);
    }
    const { unreadable } = await claimForwarded(openDatabase(env.DATABASE_URL), forwarded, log, 'dead_letter');
    return unreadable ? keep(message) : message.ack();
  };

  const work = async (messages: readonly Message[]) => {
    await park(messages.filter(({ body }) => isOurTicket(body)));
    const others = messages.filter(({ body }) => !isOurTicket(body));
    if (messages.length > 1) return others;
    for (const message of others) await settle(message);
    return [];
  };
  await workInPortions(batch, dependencies, work, 'dead_letter', keep);
}
