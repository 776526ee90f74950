import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
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
import { changesSettings, openReadOnlyDatabase } from '../db/user-statement.ts';
import { withFailure } from '../kit/errors.ts';
import type { ConsumerEnv, Tools } from '../kit/index.ts';
import { sendTickets } from '../queue/tickets.ts';
import type { ConsumerBindings, Message, MessageBatch } from '../shared/runtime.ts';
import { atMost, withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import { askHandler, handlerOf } from './ask-handler.ts';
import {
  acknowledge,
  beginningOf,
  type ConsumerDependencies,
  DEFERRED,
  databaseUnavailable,
  fieldsOf,
  type Outcome,
  record,
  secondsUntilDue,
  workInPortions,
} from './batch.ts';
import { commitEvents, type EventFailure, type EventToCommit } from './commit.ts';
import { type FailureOutcome, judge } from './judge.ts';
import { readMessage } from './messages.ts';

/** Works the events of a batch of tickets: one query loads them, one transaction commits them. */
export async function workEvents(
  batch: MessageBatch,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now, random, log } = dependencies;
  await workInPortions(batch, dependencies, async (messages, isLate) => {
    const started = now();
    const db = openDatabase(env.DATABASE_URL);
    // Two tickets of one event are one piece of work.
    const keys = new Map<string, EventKey>();
    const contents = new Map<Message, { eventKeys: string[]; unreadable: boolean }>();
    for (const message of messages) {
      const { events, unreadable } = await readMessage(message, db, log);
      for (const event of events) keys.set(keyText(event), event);
      contents.set(message, { eventKeys: events.map(keyText), unreadable });
    }

    const loaded = await loadEvents(db, [...keys.values()], beginningOf(messages, started));
    const { outcomes, toWorkAlone } = await workLoaded(loaded, messages.length > 1, isLate, db, env, dependencies);
    const outcomeOf = (key: string): Outcome => outcomes.get(key) ?? { outcome: 'not_found' };
    const traces = new Map(loaded.map((event) => [keyText(event), traceFields(event.headers.traceparent)]));
    const ms = now().getTime() - started.getTime();
    for (const [key, { source, eventId }] of keys) {
      if (toWorkAlone.has(key)) continue;
      log({ step: 'completion', source, event_id: eventId, ...fieldsOf(outcomeOf(key)), ...traces.get(key), ms });
    }
    const messagesToWorkAlone = messages.filter((message) =>
      contents.get(message)?.eventKeys.some((key) => toWorkAlone.has(key)),
    );
    for (const message of messagesToWorkAlone) contents.delete(message);
    for (const [message, { eventKeys, unreadable }] of contents) {
      acknowledge(message, [...eventKeys.map(outcomeOf), ...(unreadable ? [UNREADABLE] : [])], random());
    }
    return messagesToWorkAlone;
  });
}

const UNREADABLE: Outcome = { outcome: 'unreadable' };

/**
 * Works the events that can be worked now. `isGroup`: they are of several messages. Then those that may harm the others
 * are not worked, but returned as `toWorkAlone`: those that have failed before, which may hang again until their time
 * limit, and those whose last group never ended.
 */
async function workLoaded(
  loaded: readonly LoadedEvent[],
  isGroup: boolean,
  isLate: () => boolean,
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<{ outcomes: Map<string, Outcome>; toWorkAlone: Set<string> }> {
  const now = dependencies.now();
  const outcomes = new Map<string, Outcome>();
  const toWorkAlone = new Set<string>();
  const workable: WorkableEvent[] = [];
  for (const event of loaded) {
    const seconds = secondsUntilDue(event, now);
    if (event.status !== 'pending') outcomes.set(keyText(event), { outcome: 'already_finished' });
    else if (!event.hasBody) outcomes.set(keyText(event), BODY_GONE);
    else if (seconds > 0) outcomes.set(keyText(event), { outcome: 'not_due', seconds });
    else if (isGroup && (event.attempts > 0 || event.neverEnded)) toWorkAlone.add(keyText(event));
    else if (!isWorkable(event)) outcomes.set(keyText(event), DEFERRED);
    else workable.push(event);
  }
  const withoutBody = loaded.filter((event) => outcomes.get(keyText(event)) === BODY_GONE);
  if (withoutBody.length > 0) await parkEvents(db, withoutBody, BODY_GONE, now);
  for (let from = 0; from < workable.length; from += MAX_GROUP) {
    const group = workable.slice(from, from + MAX_GROUP);
    const worked = isLate()
      ? group.map((event) => [keyText(event), DEFERRED] as const)
      : await workGroup(group, db, env, dependencies);
    for (const [key, outcome] of worked) outcomes.set(key, outcome);
  }
  return { outcomes, toWorkAlone };
}

const BODY_GONE: FailureOutcome = {
  outcome: 'parked',
  seconds: 0,
  failure: 'body_gone',
  failedPaths: null,
  error: 'the body of this event is gone, so its handler cannot be run',
  reason: 'body gone',
  position: undefined,
};

/**
 * As many as there are tickets in a batch. A forwarded delivery may have thousands of events: if all their handlers were
 * asked before the first commit, slow ones could keep it from ever being reached.
 */
const MAX_GROUP = 100;

/** A Worker makes at most six calls to the outside at a time. A seventh handler would spend its time limit waiting. */
const HANDLERS_AT_ONCE = 6;

/** Asks the handlers, commits their changes, sends the tickets of their effects, and records the failures. */
async function workGroup(
  events: readonly WorkableEvent[],
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<Map<string, Outcome>> {
  const { now, random, handlers } = dependencies;
  const tools = { db: openReadOnlyDatabase(env.DATABASE_URL), now: now(), env: env as ConsumerEnv };
  const asked = await atMost(HANDLERS_AT_ONCE, events, (event) => ask(event, tools, dependencies));
  const toCommit = asked.filter((one) => one.outcome === 'to_commit');
  const { committed, failed, postponed } = await commitEvents(db, toCommit, now());
  const failedHandlers = asked.filter((one) => one.outcome === 'failed');
  // If a handler's query fails while other events are worked, Postgres may be away. The event comes again alone.
  const isPostponed = ({ error }: EventFailure) => events.length > 1 && DatabaseError.isRetryable(error);
  const tickets = committed.flatMap(({ completion: { source, eventId, effects } }) =>
    effects.map(({ name }) => ({ source, eventId, name })),
  );
  // If a ticket is lost, the sweep sends another.
  if (tickets.length > 0) await sendTickets(env.EFFECTS, tickets);

  const outcomes = new Map<string, Outcome>();
  for (const { event, completion } of committed) {
    const { status, summary } = completion;
    outcomes.set(keyText(event), status === 'done' ? { outcome: status } : { outcome: status, reason: summary });
  }
  for (const { event, error } of [...failedHandlers.filter(isPostponed), ...postponed]) {
    outcomes.set(keyText(event), databaseUnavailable(error));
  }
  const attempts: FailedAttempt[] = [];
  for (const { event, error: thrown } of [...failedHandlers.filter((one) => !isPostponed(one)), ...failed]) {
    const handler = handlerOf(event, handlers);
    const { attempts: maxAttempts, parkOn } = handler ?? {};
    const attempt = { attemptsBefore: event.attempts, random: random(), env, maxAttempts, parkOn };
    // Without a handler, nothing of the event is in its transaction: it can't be what Postgres has refused.
    const isBlameless = handler === undefined && DatabaseError.isFromDatabase(thrown) && !isCompletedBefore(thrown);
    const judgement = isBlameless ? databaseUnavailable(thrown) : judge(thrown, attempt);
    outcomes.set(keyText(event), judgement);
    if (judgement.outcome === 'retry' || judgement.outcome === 'parked') {
      const { source, eventId } = event;
      const { outcome, seconds, ...why } = judgement;
      const notBefore = new Date(now().getTime() + seconds * 1000);
      attempts.push({ source, eventId, ...why, parked: outcome === 'parked', notBefore });
    }
  }
  // This write also tests whether Postgres works. If it succeeds, the events failed because of themselves: a statement that
  // crashes Postgres must count as a failure too. If it doesn't, the error is thrown, and no attempt is counted.
  if (attempts.length > 0) await record(() => recordFailures(db, attempts, now()));
  return outcomes;
}

/** Asks the handler of an event within its time limit, and turns what it returns into the completion of the event. */
async function ask(
  event: WorkableEvent,
  tools: Omit<Tools, 'fetch'>,
  dependencies: ConsumerDependencies,
): Promise<EventToCommit | EventFailure> {
  const { source, eventId } = event;
  const { handlerMs, random } = dependencies;
  try {
    const asking = askHandler(event, dependencies, {
      ...tools,
      fetch: fetchInTrace(fetch, event.headers.traceparent, random),
    });
    const { conditions, ...changes } = await withTimeLimit(handlerMs, asking, () => {
      throw withFailure(new Error(`the handler took longer than ${handlerMs / 1000} s`), 'time_limit');
    });
    return {
      outcome: 'to_commit',
      event,
      completion: { source, eventId, ...changes },
      conditions,
      changesSettings: changes.statements.some(({ sql }) => changesSettings(sql)),
    };
  } catch (error) {
    return { outcome: 'failed', event, error };
  }
}
