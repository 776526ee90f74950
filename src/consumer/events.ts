import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { isWorkable, loadEvents } from '../db/load.ts';
import { unpack } from '../forwarded.ts';
import { isTicket, keyOf, type Ticket } from '../ticket.ts';
import { claimForwarded } from './forwarded.ts';
import { workGroup } from './group.ts';
import type { ConsumerParts } from './parts.ts';
import { type Result, settle } from './settle.ts';

/** A consumer is ended after 15 minutes, and what it wanted acked or delayed is forgotten: it stops in time. */
const RUN_MS = 10 * 60_000;

/**
 * Works the tickets of events. Those that come for the first time are worked as one group. A ticket that comes again
 * may be one that killed its isolate, and is worked alone: the most retried last, the rest in no fixed order, so
 * that nobody stands behind such a one every time.
 */
export async function workEvents(batch: MessageBatch<unknown>, env: ConsumerEnv, parts: ConsumerParts): Promise<void> {
  const fresh = batch.messages.filter(({ attempts }) => attempts === 1);
  const again = batch.messages
    .filter(({ attempts }) => attempts > 1)
    .map((message) => ({ message, order: message.attempts + parts.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ message }) => [message]);

  const started = parts.now().getTime();
  let away: DatabaseError | undefined;
  for (const messages of [fresh, ...again]) {
    if (parts.now().getTime() - started > RUN_MS) {
      for (const message of messages) settle(message, [{ outcome: 'later' }], parts.random());
      continue;
    }
    try {
      // Asking again for every ticket would take longer than a consumer may run.
      if (away) throw away;
      if (messages.length > 0) await workMessages(messages, env, parts);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      away = error;
      for (const message of messages) settle(message, [{ outcome: 'waits', reason: error.message }], parts.random());
    }
  }
  if (away) parts.log({ at: 'consumer', outcome: 'waits', reason: away.message });
}

async function workMessages(messages: readonly Message[], env: ConsumerEnv, parts: ConsumerParts): Promise<void> {
  const started = parts.now();
  const db = openDatabase(env.DATABASE_URL);
  // Two tickets of one event are one piece of work.
  const tickets = new Map<string, Ticket>();
  const keysOf = new Map<Message, string[]>();
  for (const message of messages) {
    const events = await eventsOf(message.body, db);
    if (events === undefined) {
      parts.log({ at: 'consumer', outcome: 'unreadable', deliveries: message.attempts });
      settle(message, [{ outcome: 'unreadable' }], parts.random());
      continue;
    }
    for (const event of events) tickets.set(keyOf(event), event);
    keysOf.set(message, events.map(keyOf));
  }

  const loaded = await loadEvents(db, [...tickets.values()]);
  const results = await workGroup(db, loaded.filter(isWorkable), env, parts);
  for (const event of loaded) {
    if (!isWorkable(event)) results.set(keyOf(event), { outcome: event.status === 'pending' ? 'later' : 'already' });
  }
  const resultOf = (key: string): Result => results.get(key) ?? { outcome: 'unknown' };

  const ms = parts.now().getTime() - started.getTime();
  for (const [key, { source, id }] of tickets) {
    const result = resultOf(key);
    const reason = 'reason' in result ? result.reason : undefined;
    parts.log({ at: 'completion', source, event_id: id, outcome: result.outcome, reason, ms });
  }
  for (const [message, keys] of keysOf) settle(message, keys.map(resultOf), parts.random());
}

/** A ticket names its event. A forwarded delivery carries its events: they are claimed first, as any others. */
async function eventsOf(body: unknown, db: Database): Promise<Ticket[] | undefined> {
  if (isTicket(body)) return [{ source: body.source, id: body.id }];
  const forwarded = await unpack(body);
  return forwarded && claimForwarded(db, forwarded);
}
