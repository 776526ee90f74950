import { type Database, openDatabase } from '../db/client.ts';
import { type Failure, parkEvents, recordFailures } from '../db/fail.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import { isWorkable, type LoadedEvent, loadEvents, type WorkableEvent } from '../db/load.ts';
import type { Tools } from '../kit/index.ts';
import { sendTickets } from '../queue/send.ts';
import { workInPortions } from './batch.ts';
import { commitGroup } from './commit.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { handlerOf } from './handler.ts';
import { judge, type Parked, type Retry } from './judge.ts';
import { atMost } from './limits.ts';
import { eventsOf } from './messages.ts';
import { acknowledge, fieldsOf, type Outcome } from './outcome.ts';
import { fetchFor } from './outside.ts';
import { prepare } from './prepare.ts';

/** A Worker makes at most six calls to the outside at a time. A seventh handler would spend its time limit waiting. */
const HANDLERS_AT_ONCE = 6;

/** Works the events of a batch of tickets: one query loads them, one transaction commits them. */
export async function workEvents(
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<void> {
  await workInPortions(batch, dependencies, (messages) => workPortion(messages, env, dependencies));
}

async function workPortion(
  messages: readonly Message[],
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now, random, log } = dependencies;
  const started = now();
  const db = openDatabase(env.DATABASE_URL);
  // Two tickets of one event are one piece of work.
  const keys = new Map<string, EventKey>();
  const keysOfMessage = new Map<Message, string[]>();
  for (const message of messages) {
    const events = await eventsOf(message.body, db);
    if (events === undefined) {
      log({ step: 'completion', outcome: 'unreadable', ticket_deliveries: message.attempts });
      acknowledge(message, [{ outcome: 'unreadable' }], random());
      continue;
    }
    for (const event of events) keys.set(keyText(event), event);
    keysOfMessage.set(message, events.map(keyText));
  }

  const outcomes = await workLoaded(await loadEvents(db, [...keys.values()]), db, env, dependencies);
  const outcomeOf = (key: string): Outcome => outcomes.get(key) ?? { outcome: 'not_found' };
  const ms = now().getTime() - started.getTime();
  for (const [key, { source, eventId }] of keys) {
    log({ step: 'completion', source, event_id: eventId, ...fieldsOf(outcomeOf(key)), ms });
  }
  for (const [message, itsKeys] of keysOfMessage) acknowledge(message, itsKeys.map(outcomeOf), random());
}

/** Works the events that can be worked now, and says of each how it ended. */
async function workLoaded(
  loaded: readonly LoadedEvent[],
  db: Database,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<Map<string, Outcome>> {
  const now = dependencies.now();
  const outcomes = new Map<string, Outcome>();
  const workable: WorkableEvent[] = [];
  for (const event of loaded) {
    const seconds = secondsUntilDue(event, now);
    if (event.status !== 'pending') outcomes.set(keyText(event), { outcome: 'already_finished' });
    else if (!event.hasBody) outcomes.set(keyText(event), BODY_GONE);
    else if (!isWorkable(event)) outcomes.set(keyText(event), { outcome: 'deferred' });
    else if (seconds > 0) outcomes.set(keyText(event), { outcome: 'not_due', seconds });
    else workable.push(event);
  }
  const bodiless = loaded.filter((event) => outcomes.get(keyText(event)) === BODY_GONE);
  await parkEvents(db, bodiless, BODY_GONE.error, now);
  for (const [key, outcome] of await workGroup(workable, db, env, dependencies)) outcomes.set(key, outcome);
  return outcomes;
}

const BODY_GONE = {
  outcome: 'parked',
  reason: 'body gone',
  error: 'the body of this event is gone, so its handler can not be run',
  position: undefined,
} as const satisfies Outcome;

/** Asks the handlers, commits what they answered, sends the tickets of their effects, and records what failed. */
async function workGroup(
  events: readonly WorkableEvent[],
  db: Database,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<Map<string, Outcome>> {
  const { now, random, handlers } = dependencies;
  const tools: Tools = { db, fetch: fetchFor(env), now: now(), env };
  // In the order of their keys, so that two groups with common events lock them in the same order.
  const ordered = events.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1));
  const asked = await atMost(HANDLERS_AT_ONCE, ordered, (event) => prepare(event, tools, dependencies));
  const prepared = asked.filter((one) => one.outcome === 'prepared');
  const { committed, failed } = await commitGroup(db, prepared, now());
  // If a ticket is lost, the sweep sends another.
  await sendTickets(
    env.EFFECTS,
    committed.flatMap(({ effects }) => effects),
  );

  const outcomes = new Map<string, Outcome>();
  for (const { event, completion } of committed) outcomes.set(keyText(event), { outcome: completion.status });
  const failures: Failure[] = [];
  for (const { event, error } of [...asked.filter((one) => one.outcome === 'failed'), ...failed]) {
    const judgement = judge(error, event.attempts, random(), handlerOf(event, handlers)?.attempts);
    outcomes.set(keyText(event), judgement);
    if (judgement.outcome === 'retry' || judgement.outcome === 'parked')
      failures.push(failureOf(event, judgement, now()));
  }
  await recordFailures(db, failures, now());
  return outcomes;
}

function failureOf({ source, eventId }: EventKey, judgement: Retry | Parked, now: Date): Failure {
  const seconds = judgement.outcome === 'retry' ? judgement.seconds : 0;
  const notBefore = new Date(now.getTime() + seconds * 1000);
  return { source, eventId, error: judgement.error, parked: judgement.outcome === 'parked', notBefore };
}

/**
 * Another ticket of an event that has just failed must not shorten its wait, nor use up its attempts. A second is
 * tolerated, because clocks differ.
 */
function secondsUntilDue({ notBefore }: LoadedEvent, now: Date): number {
  const seconds = ((notBefore ?? now).getTime() - now.getTime()) / 1000;
  return seconds > 1 ? Math.ceil(seconds) : 0;
}
