import { type Database, openDatabase } from '../db/client.ts';
import { parkEvents } from '../db/fail.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import { isWorkable, type LoadedEvent, loadEvents, type WorkableEvent } from '../db/load.ts';
import { traceFields } from '../encoding/traceparent.ts';
import { workInPortions } from './batch.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { workGroup } from './group.ts';
import { readMessage } from './messages.ts';
import { acknowledge, fieldsOf, type Outcome } from './outcome.ts';

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
  const contents = new Map<Message, { itsKeys: string[]; unreadable: boolean }>();
  for (const message of messages) {
    const { events, unreadable } = await readMessage(message, db, log);
    for (const event of events) keys.set(keyText(event), event);
    contents.set(message, { itsKeys: events.map(keyText), unreadable });
  }

  const loaded = await loadEvents(db, [...keys.values()]);
  const outcomes = await workLoaded(loaded, messages.length > 1, db, env, dependencies);
  const outcomeOf = (key: string): Outcome => outcomes.get(key) ?? { outcome: 'not_found' };
  const traces = new Map(loaded.map((event) => [keyText(event), traceFields(event.headers.traceparent)]));
  const ms = now().getTime() - started.getTime();
  for (const [key, { source, eventId }] of keys) {
    log({ step: 'completion', source, event_id: eventId, ...fieldsOf(outcomeOf(key)), ...traces.get(key), ms });
  }
  for (const [message, { itsKeys, unreadable }] of contents) {
    acknowledge(message, [...itsKeys.map(outcomeOf), ...(unreadable ? [UNREADABLE] : [])], random());
  }
}

/** Works the events that can be worked now, and returns the outcome of each. `together`: they are of several messages. */
async function workLoaded(
  loaded: readonly LoadedEvent[],
  together: boolean,
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
    // It may hang until its time limit again. Delivered once more, its ticket is worked alone, after all others.
    else if (event.attempts > 0 && together) outcomes.set(keyText(event), { outcome: 'deferred' });
    else workable.push(event);
  }
  const bodiless = loaded.filter((event) => outcomes.get(keyText(event)) === BODY_GONE);
  await parkEvents(db, bodiless, BODY_GONE.error, now);
  for (const [key, outcome] of await workGroup(workable, db, env, dependencies)) outcomes.set(key, outcome);
  return outcomes;
}

const UNREADABLE: Outcome = { outcome: 'unreadable' };

const BODY_GONE = {
  outcome: 'parked',
  reason: 'body gone',
  error: 'the body of this event is gone, so its handler can not be run',
  position: undefined,
} as const satisfies Outcome;

/**
 * Another ticket of an event that has just failed must not shorten its wait, nor use up its attempts. A second is
 * tolerated, because clocks differ.
 */
function secondsUntilDue({ notBefore }: LoadedEvent, now: Date): number {
  const seconds = ((notBefore ?? now).getTime() - now.getTime()) / 1000;
  return seconds > 1 ? Math.ceil(seconds) : 0;
}
