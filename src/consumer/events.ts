import { type Database, openDatabase } from '../db/client.ts';
import { isWorkable, type LoadedEvent, loadEvents } from '../db/load.ts';
import { park } from '../db/park.ts';
import { unpack } from '../queue/forwarded.ts';
import { isTicket, keyOf, type Ticket } from '../queue/tickets.ts';
import { claimForwarded } from './forwarded.ts';
import { workGroup } from './group.ts';
import type { ConsumerParts } from './parts.ts';
import { inPortions } from './portions.ts';
import { type Result, settle } from './settle.ts';

/** Works the tickets of events: loads them in one query, works them as a group, and acks or retries each ticket. */
export async function workEvents(batch: MessageBatch<unknown>, env: ConsumerEnv, parts: ConsumerParts): Promise<void> {
  await inPortions(batch, parts, (messages) => workMessages(messages, env, parts));
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
  const workable = loaded.filter(isWorkable).filter((event) => secondsTooEarly(event, started) === 0);
  const results = await workGroup(db, workable, env, parts);
  for (const event of loaded) {
    if (!results.has(keyOf(event))) results.set(keyOf(event), withoutWork(event, started));
  }
  await park(db, loaded.filter(isBodiless), BODY_GONE, started);
  const resultOf = (key: string): Result => results.get(key) ?? { outcome: 'unknown' };

  const ms = parts.now().getTime() - started.getTime();
  for (const [key, { source, id }] of tickets) {
    const result = resultOf(key);
    const reason = 'reason' in result ? result.reason : undefined;
    parts.log({ at: 'completion', source, event_id: id, outcome: result.outcome, reason, ms });
  }
  for (const [message, keys] of keysOf) settle(message, keys.map(resultOf), parts.random());
}

const BODY_GONE = 'the body is gone';

function withoutWork(event: LoadedEvent, now: Date): Result {
  if (event.status !== 'pending') return { outcome: 'already' };
  if (isBodiless(event)) return { outcome: 'parks', reason: BODY_GONE, error: BODY_GONE };
  if (!isWorkable(event)) return { outcome: 'later' };
  return { outcome: 'early', seconds: secondsTooEarly(event, now) };
}

function isBodiless({ status, hasBody }: LoadedEvent): boolean {
  return status === 'pending' && !hasBody;
}

/**
 * A second ticket of an event that failed a moment ago must not shorten its wait, nor use up its attempts.
 * A clock that differs by a second is not early.
 */
function secondsTooEarly({ notBefore }: LoadedEvent, now: Date): number {
  const seconds = ((notBefore ?? now).getTime() - now.getTime()) / 1000;
  return seconds > 1 ? Math.ceil(seconds) : 0;
}

/** A ticket names its event. A forwarded delivery carries its events: they are claimed first, as any others. */
async function eventsOf(body: unknown, db: Database): Promise<Ticket[] | undefined> {
  if (isTicket(body)) return [{ source: body.source, id: body.id }];
  const forwarded = await unpack(body);
  return forwarded && claimForwarded(db, forwarded);
}
