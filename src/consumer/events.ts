import type { Handlers } from '../app/define.ts';
import { openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { isWorkable, type LoadedEvent, loadEvents } from '../db/load.ts';
import type { Log } from '../log.ts';
import { isTicket, keyOf, type Ticket } from '../ticket.ts';
import { backoff } from './backoff.ts';
import { type Result, workGroup } from './group.ts';

export interface ConsumerParts {
  readonly handlers: Handlers;
  readonly now: () => Date;
  readonly log: Log;
}

/** A batch of tickets: load their events, work them, and ack or retry each ticket. */
export async function workEvents(batch: MessageBatch<unknown>, env: ConsumerEnv, parts: ConsumerParts): Promise<void> {
  const started = parts.now();
  // Two tickets of one event are one piece of work.
  const tickets = new Map<string, Ticket>();
  for (const { body } of batch.messages) if (isTicket(body)) tickets.set(keyOf(body), body);

  let results: Map<string, Result>;
  try {
    const db = openDatabase(env.DATABASE_URL);
    const loaded = await loadEvents(db, [...tickets.values()]);
    results = await workGroup(db, loaded.filter(isWorkable), env, parts);
    for (const event of loaded) if (!isWorkable(event)) results.set(keyOf(event), withoutWork(event));
  } catch (error) {
    // Postgres can't be reached, or not with this configuration: everything waits, and nothing is used up.
    const text = DatabaseError.from(error).message;
    parts.log({ at: 'consumer', outcome: 'waits', reason: text, tickets: tickets.size });
    results = new Map([...tickets.keys()].map((key) => [key, { outcome: 'waits', error: text }]));
  }

  const ms = parts.now().getTime() - started.getTime();
  for (const [key, { source, id }] of tickets) {
    parts.log({ at: 'completion', source, event_id: id, outcome: (results.get(key) ?? UNKNOWN).outcome, ms });
  }
  for (const message of batch.messages) {
    settle(message, (isTicket(message.body) && results.get(keyOf(message.body))) || UNKNOWN);
  }
}

/** A ticket whose event isn't in Postgres: it was pruned long ago, or the database was restored to an earlier state. */
const UNKNOWN: Result = { outcome: 'unknown' };

function withoutWork({ status }: LoadedEvent): Result {
  return status === 'pending' ? { outcome: 'later' } : { outcome: 'already' };
}

function settle(message: Message, result: Result): void {
  const delaySeconds = secondsToRetry(result, message.attempts);
  if (delaySeconds === 'never') message.ack();
  else message.retry({ delaySeconds });
}

function secondsToRetry(result: Result, deliveries: number): number | 'never' {
  switch (result.outcome) {
    case 'done':
    case 'ignored':
    case 'already':
    case 'unknown':
    case 'parks':
      return 'never';
    case 'retries':
      return result.seconds;
    case 'later':
      // Too large to be loaded together with the rest of its batch.
      return 1;
    case 'waits':
      return backoff(deliveries, Math.random());
  }
}
