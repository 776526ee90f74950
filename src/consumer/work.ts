import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import {
  type FailedAttempt,
  isWorkable,
  type LoadedEvent,
  loadEvents,
  parkEvents,
  recordFailures,
  type WorkableEvent,
} from '../db/events.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import { openReadOnlyDatabase } from '../db/read-only.ts';
import { changesSettings } from '../db/user-statement.ts';
import { withFailure } from '../kit/errors.ts';
import type { Tools } from '../kit/index.ts';
import { sendTickets } from '../queue/tickets.ts';
import { atMost, withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import { askHandler, handlerOf } from './ask-handler.ts';
import {
  acknowledge,
  type ConsumerDependencies,
  databaseUnavailable,
  fieldsOf,
  type Outcome,
  secondsUntilDue,
  workInPortions,
} from './batch.ts';
import { commitEvents, type EventFailure, type EventToCommit } from './commit.ts';
import { type FailureOutcome, judge } from './judge.ts';
import { readMessage } from './messages.ts';

/** Works the events of a batch of tickets: one query loads them, one transaction commits them. */
export async function workEvents(
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now, random, log } = dependencies;
  await workInPortions(batch, dependencies, async (messages) => {
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
  });
}

const UNREADABLE: Outcome = { outcome: 'unreadable' };

/** Works the events that can be worked now, and returns all outcomes. `together`: they are of several messages. */
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
  await parkEvents(db, bodiless, BODY_GONE, now);
  for (const [key, outcome] of await workGroup(workable, db, env, dependencies)) outcomes.set(key, outcome);
  return outcomes;
}

const BODY_GONE: FailureOutcome = {
  outcome: 'parked',
  seconds: 0,
  failure: 'body_gone',
  failedPaths: null,
  error: 'the body of this event is gone, so its handler can not be run',
  reason: 'body gone',
  position: undefined,
};

/** A Worker makes at most six calls to the outside at a time. A seventh handler would spend its time limit waiting. */
const HANDLERS_AT_ONCE = 6;

/** Asks the handlers, commits their changes, sends the tickets of their effects, and records the failures. */
async function workGroup(
  events: readonly WorkableEvent[],
  db: Database,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<Map<string, Outcome>> {
  const { now, random, handlers } = dependencies;
  const tools = { db: openReadOnlyDatabase(env.DATABASE_URL), now: now(), env };
  // In the order of their keys, so that two groups with common events lock them in the same order.
  const ordered = events.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1));
  const asked = await atMost(HANDLERS_AT_ONCE, ordered, (event) => ask(event, tools, dependencies));
  const toCommit = asked.filter((one) => one.outcome === 'to_commit');
  const { committed, failed, undecided } = await commitEvents(db, toCommit, now());
  const failedHandlers = asked.filter((one) => one.outcome === 'failed');
  // If a handler's query fails while other events are worked, Postgres may be away. The event comes again alone.
  const isUndecided = ({ error }: EventFailure) => events.length > 1 && DatabaseError.isRetryable(error);
  const tickets = committed.flatMap(({ completion: { source, eventId, effects } }) =>
    effects.map(({ name }) => ({ source, eventId, name })),
  );
  // If a ticket is lost, the sweep sends another.
  await sendTickets(env.EFFECTS, tickets);

  const outcomes = new Map<string, Outcome>();
  for (const { event, completion } of committed) outcomes.set(keyText(event), { outcome: completion.status });
  for (const { event, error } of [...failedHandlers.filter(isUndecided), ...undecided]) {
    outcomes.set(keyText(event), databaseUnavailable(error));
  }
  const attempts: FailedAttempt[] = [];
  for (const { event, error: thrown } of [...failedHandlers.filter((one) => !isUndecided(one)), ...failed]) {
    const judgement = judge(thrown, event.attempts, random(), handlerOf(event, handlers)?.attempts);
    outcomes.set(keyText(event), judgement);
    if (judgement.outcome === 'retry' || judgement.outcome === 'parked') {
      const { source, eventId } = event;
      const { outcome, seconds, failure, failedPaths, error } = judgement;
      const notBefore = new Date(now().getTime() + seconds * 1000);
      attempts.push({ source, eventId, failure, failedPaths, error, parked: outcome === 'parked', notBefore });
    }
  }
  await countAttempts(db, attempts, now());
  return outcomes;
}

/** Asks the handler of an event within its time limit, and turns what it returns into the completion of the event. */
async function ask(
  event: WorkableEvent,
  tools: Omit<Tools, 'fetch'>,
  { handlers, handlerMs, random }: ConsumerDependencies,
): Promise<EventToCommit | EventFailure> {
  const { source, eventId } = event;
  try {
    const asking = askHandler(event, handlers, {
      ...tools,
      fetch: fetchInTrace(fetch, event.headers.traceparent, random),
    });
    const result = await withTimeLimit(handlerMs, asking, () => {
      throw withFailure(new Error(`the handler took longer than ${handlerMs / 1000} s`), 'time_limit');
    });
    return {
      outcome: 'to_commit',
      event,
      completion: { source, eventId, ...result },
      alone: result.statements.some(({ sql }) => changesSettings(sql)),
    };
  } catch (error) {
    return { outcome: 'failed', event, error };
  }
}

/**
 * A statement that crashes Postgres must count as a failure too, and Postgres is back within seconds after a crash. An
 * error that lasts longer than these waits together is an outage.
 */
const WAITS_MS = [1000, 2000, 4000];

/**
 * Counts an attempt of each event that failed. This write also tests whether Postgres works: if it succeeds, the events
 * failed because of themselves. If it doesn't, the error is thrown, and no attempt is counted.
 */
async function countAttempts(db: Database, attempts: readonly FailedAttempt[], now: Date): Promise<void> {
  for (const wait of WAITS_MS) {
    try {
      return await recordFailures(db, attempts, now);
    } catch (error) {
      if (!DatabaseError.from(error).retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  await recordFailures(db, attempts, now);
}
