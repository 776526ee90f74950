import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import {
  type FailedAttempt,
  isWorkable,
  type LoadedEvent,
  loadEvents,
  parkEvents,
  recordFailures,
} from '../db/events.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import { openReadOnlyDatabase } from '../db/user-statement.ts';
import { withFailure } from '../kit/errors.ts';
import type { ConsumerEnv, Tools } from '../kit/index.ts';
import { sendTickets } from '../queue/tickets.ts';
import { atMost } from '../shared/at-most.ts';
import type { ConsumerBindings, Message } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace, traceFields } from '../shared/trace.ts';
import { askHandler, handlerOf } from './ask-handler.ts';
import { type Asked, commitEvents, type ToCommit } from './commit.ts';
import { type FailureOutcome, judge } from './judge.ts';
import { readMessage } from './messages.ts';
import {
  ALREADY_FINISHED,
  DEFERRED,
  databaseUnavailable,
  NOT_FOUND,
  type Outcome,
  outcomeFields,
  record,
  secondsUntilDue,
  UNREADABLE,
} from './outcomes.ts';
import type { ConsumerDependencies, Portion, Settled } from './portions.ts';

/** An event that messages want worked, and what becomes of it on its way. */
interface Work extends EventKey, Pick<Asked, 'result' | 'failure'> {
  event?: LoadedEvent;
  /** `alone`: not without the other messages. */
  outcome: Outcome | 'alone';
}

/** Work that can be done now. */
type Workable = Work & Asked;

/** Works the events of a portion: one query loads them, one transaction commits them. */
export async function workEvents(
  { messages, isLate, begun }: Portion,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<Settled> {
  const { now, log } = dependencies;
  const started = now();
  const db = openDatabase(env.DATABASE_URL);
  const works = new Map<string, Work>();
  // Two tickets of one event are one piece of work.
  const workOf = ({ source, eventId }: EventKey): Work => {
    const key = keyText({ source, eventId });
    const work = works.get(key) ?? { source, eventId, outcome: NOT_FOUND };
    works.set(key, work);
    return work;
  };
  const contents = new Map<Message, { readonly works: readonly Work[]; readonly unreadable: boolean }>();
  for (const message of messages) {
    const { events, unreadable } = await readMessage(message, db, log);
    contents.set(message, { works: events.map(workOf), unreadable });
  }

  const loaded = works.size > 0 ? await loadEvents(db, [...works.values()], begun) : [];
  const workable: Workable[] = [];
  const withoutBody: Work[] = [];
  const loadedAt = now();
  for (const event of loaded) {
    const work = workOf(event);
    const obstacle = obstacleTo(event, messages.length > 1, loadedAt);
    work.event = event;
    work.outcome = obstacle ?? DEFERRED;
    if (obstacle === BODY_GONE) withoutBody.push(work);
    if (obstacle === undefined && isWorkable(event)) workable.push(Object.assign(work, { event }));
  }
  if (withoutBody.length > 0) await parkEvents(db, withoutBody, BODY_GONE, loadedAt);
  for (let from = 0; from < workable.length && !isLate(); from += MAX_GROUP) {
    await workGroup(workable.slice(from, from + MAX_GROUP), db, env, dependencies);
  }

  const ms = now().getTime() - started.getTime();
  for (const { source, eventId, event, outcome } of works.values()) {
    if (outcome === 'alone') continue;
    const trace = traceFields(event?.headers.traceparent);
    log({ step: 'completion', source, event_id: eventId, ...outcomeFields(outcome), ...trace, ms });
  }
  const settled = new Map<Message, readonly Outcome[] | 'alone'>();
  for (const [message, { works, unreadable }] of contents) {
    const outcomes = works.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'alone');
    const isAlone = outcomes.length < works.length;
    settled.set(message, isAlone ? 'alone' : unreadable ? [...outcomes, UNREADABLE] : outcomes);
  }
  return settled;
}

/**
 * Why an event can't be worked now, if it can't. In a group, those that may harm the others are not worked: those that have
 * failed before, which may hang again until their time limit, and those whose last group never ended.
 */
function obstacleTo(event: LoadedEvent, isGroup: boolean, now: Date): Work['outcome'] | undefined {
  if (event.status !== 'pending') return ALREADY_FINISHED;
  if (!event.hasBody) return BODY_GONE;
  const seconds = secondsUntilDue(event, now);
  if (seconds > 0) return { outcome: 'not_due', seconds };
  if (isGroup && (event.attempts > 0 || event.neverEnded)) return 'alone';
  return isWorkable(event) ? undefined : DEFERRED;
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
  works: readonly Workable[],
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now } = dependencies;
  const tools = { db: openReadOnlyDatabase(env.DATABASE_URL), now: now(), env: env as ConsumerEnv };
  await atMost(HANDLERS_AT_ONCE, works, (work) => ask(work, works.length > 1, tools, dependencies));
  await commitEvents(
    db,
    works.filter((work): work is Workable & ToCommit => work.result !== undefined),
    now(),
  );
  // If a ticket is lost, the sweep sends another.
  const tickets = works.flatMap(({ source, eventId, result, failure }) =>
    result && !failure ? result.effects.map(({ name }) => ({ source, eventId, name })) : [],
  );
  if (tickets.length > 0) await sendTickets(env.EFFECTS, tickets);

  const attempts: FailedAttempt[] = [];
  for (const work of works) {
    const outcome = outcomeOf(work, env, dependencies);
    work.outcome = outcome;
    if (outcome.outcome !== 'retry' && outcome.outcome !== 'parked') continue;
    const { source, eventId } = work;
    const notBefore = new Date(now().getTime() + outcome.seconds * 1000);
    attempts.push({ source, eventId, ...outcome, parked: outcome.outcome === 'parked', notBefore });
  }
  // This write also tests whether Postgres works. If it succeeds, the events failed because of themselves: a statement that
  // crashes Postgres must count as a failure too. If it doesn't, the error is thrown, and no attempt is counted.
  if (attempts.length > 0) await record(() => recordFailures(db, attempts, now()));
}

/** Asks the handler of an event within its time limit. */
async function ask(
  work: Workable,
  isGroup: boolean,
  tools: Omit<Tools, 'fetch'>,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { handlerMs, random } = dependencies;
  const { event } = work;
  try {
    const asking = askHandler(event, dependencies, {
      ...tools,
      fetch: fetchInTrace(fetch, event.headers.traceparent, random),
    });
    work.result = await withTimeLimit(handlerMs, asking, () => {
      throw withFailure(new Error(`the handler took longer than ${handlerMs / 1000} s`), 'time_limit');
    });
  } catch (error) {
    // If a handler's query fails while other events are worked, Postgres may be away. The event comes again alone.
    work.failure = { error, isPostponed: isGroup && DatabaseError.isRetryable(error) };
  }
}

/** What became of an event, once its handler was asked and its changes are committed or not. */
function outcomeOf(
  { event, result, failure }: Asked,
  env: ConsumerBindings,
  { handlers, random }: ConsumerDependencies,
): Outcome {
  if (failure === undefined) {
    return result?.status === 'ignored' ? { outcome: 'ignored', reason: result.summary } : { outcome: 'done' };
  }
  const { error, isPostponed } = failure;
  const handler = handlerOf(event, handlers);
  // Without a handler, nothing of the event is in its transaction: it can't be what Postgres has refused.
  const isBlameless = handler === undefined && DatabaseError.isFromDatabase(error) && !isCompletedBefore(error);
  if (isPostponed || isBlameless) return databaseUnavailable(error);
  const { attempts: maxAttempts, parkOn } = handler ?? {};
  return judge(error, { attemptsBefore: event.attempts, random: random(), env, maxAttempts, parkOn });
}
