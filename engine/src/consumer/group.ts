import type { Database } from '../db/client.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { type FailedAttempt, recordFailures } from '../db/events.ts';
import type { EventKey } from '../db/keys.ts';
import { noteSuccess } from '../db/pauses.ts';
import { openReadOnlyDatabase } from '../db/user-statement.ts';
import { withFailure } from '../kit/errors.ts';
import type { ConsumerEnv, Tools } from '../kit/index.ts';
import { sendTickets } from '../queue/tickets.ts';
import { atMost } from '../shared/at-most.ts';
import { type ConsumerBindings, MAX_DELAY_SECONDS } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { fetchInTrace } from '../shared/trace.ts';
import { askHandler } from './ask-handler.ts';
import { commitRuns, type EventAnswer, type Run, type ToCommit } from './commit.ts';
import { type Entry, handlerOf, limitsOf } from './find-handler.ts';
import { judge, LAST_SECONDS, PAUSE_SECONDS } from './judge.ts';
import { databaseUnavailable, NOT_ITS_TURN, type Outcome, record, secondsUntilDue } from './outcomes.ts';
import { markLate, watchCalls, withHost } from './outside.ts';
import type { ConsumerDependencies } from './portions.ts';

/** An event to work now, and its outcome so far. */
export interface Workable extends EventKey, EventAnswer {
  outcome: Outcome | 'alone';
  /** The hosts that its handler has called with success. */
  called?: readonly string[];
}

/**
 * As many as there are tickets in a batch. A forwarded delivery may have thousands of events: if all their handlers were
 * asked before the first commit, slow ones could keep it from ever being reached.
 */
export const MAX_GROUP = 100;

/** A Worker makes at most six calls to the outside at a time. A seventh handler would spend its time limit waiting. */
const HANDLERS_AT_ONCE = 6;

/**
 * Asks the handlers, commits their changes, sends the tickets of their effects, and records the failures. The returned runs have
 * only the events whose handlers were asked: the others wait for these.
 */
export async function workGroup(
  runs: readonly Run<Workable>[],
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<readonly Run<Workable>[]> {
  const { now } = dependencies;
  const isGroup = runs.length > 1 || runs.some(({ events }) => events.length > 1);
  const tools = { db: openReadOnlyDatabase(env.DATABASE_URL), now: now(), env: env as ConsumerEnv };
  const asked: Run<Workable>[] = [];
  await atMost(HANDLERS_AT_ONCE, [...runs.entries()], async ([n, run]) => {
    asked[n] = { ...run, events: await askRun(run, isGroup, tools, dependencies) };
  });
  const toCommit = asked.map((run) => ({ ...run, events: run.events.filter(wantsCommit) }));
  await commitRuns(
    db,
    toCommit.filter(({ events }) => events.length > 0),
    now(),
  );
  const events = asked.flatMap((run) => run.events);
  // If a ticket is lost, the sweep sends another. It also sends those that the queue can't delay for so long.
  const tickets = events.flatMap(({ source, eventId, result, failure }) =>
    result && !failure
      ? result.effects.map(({ name, sendAt = null }) => {
          return { source, eventId, name, delaySeconds: secondsUntilDue({ notBefore: sendAt }, now()) };
        })
      : [],
  );
  const forNow = tickets.filter(({ delaySeconds }) => delaySeconds <= MAX_DELAY_SECONDS);
  if (forNow.length > 0) await sendTickets(env.EFFECTS, forNow);

  const attempts: FailedAttempt[] = [];
  const waiting: (EventKey & { readonly delaySeconds: number })[] = [];
  for (const { events: ofRun, line } of asked) {
    for (const [n, work] of ofRun.entries()) {
      // An event behind one that was not committed has read what is not there. It has not failed.
      const isTooEarly = line && work.failure && ofRun.slice(0, n).some(({ failure }) => failure);
      const outcome = isTooEarly ? NOT_ITS_TURN : outcomeOf(work, env, dependencies);
      work.outcome = outcome;
      if (outcome.outcome !== 'retry' && outcome.outcome !== 'parked' && outcome.outcome !== 'waiting') continue;
      const { source, eventId } = work;
      const waits = outcome.outcome === 'waiting';
      // Of an event with an order key, whoever works its line sends the ticket.
      if (waits && !line) waiting.push({ source, eventId, delaySeconds: outcome.seconds });
      const notBefore = new Date(now().getTime() + outcome.seconds * 1000);
      const holds = holdsWhenParked(source, dependencies);
      const parked = outcome.outcome === 'parked';
      attempts.push({ source, eventId, ...outcome, parked, waits, holds, turn: line?.turn, notBefore });
    }
  }
  // This write also tests whether Postgres works. If it succeeds, the events failed because of themselves: a statement that
  // crashes Postgres must count as a failure too. If it doesn't, the error is thrown, and no attempt is counted.
  if (attempts.length > 0) await record(() => recordFailures(db, attempts, now()));
  if (waiting.length > 0) await sendTickets(env.EVENTS, waiting);
  await noteSuccesses(events, db, now());
  return asked;
}

/** A success of a host that has failed lately makes later failures count. Of all other hosts, nothing is written. */
async function noteSuccesses(events: readonly Workable[], db: Database, now: Date): Promise<void> {
  const hosts = events.flatMap(({ called = [], failure, event: { failingHosts } }) =>
    failure || !failingHosts ? [] : called.filter((host) => Object.hasOwn(failingHosts, host)),
  );
  // The next success is noted as well.
  if (hosts.length > 0) await noteSuccess(db, [...new Set(hosts)], now).catch(() => {});
}

const wantsCommit = (work: Workable): work is Workable & ToCommit => work.result !== undefined;

/** Whether the later events of its order key wait for a parked event of this source. */
export function holdsWhenParked(source: string, { sources }: Pick<ConsumerDependencies, 'sources'>): boolean {
  const orderKey = Object.hasOwn(sources, source) ? sources[source]?.orderKey : undefined;
  return !(typeof orderKey === 'object' && 'of' in orderKey && orderKey.afterParked === 'continue');
}

/** So that a run of slow handlers commits what it has. */
const ASK_MS = 5000;

/**
 * Asks the handlers of a run one after the other, until one fails. A handler that reads (by `db` or `fetch`) must see what the
 * events before it have written, so only the first event of a run may read. A later one that reads is asked again after the
 * commit.
 */
async function askRun(
  { events, line }: Run<Workable>,
  isGroup: boolean,
  shared: Omit<Tools, 'fetch'>,
  dependencies: ConsumerDependencies,
): Promise<readonly Workable[]> {
  let reads = 0;
  const onRead = () => {
    reads++;
  };
  const tools = line ? { ...shared, db: openReadOnlyDatabase(shared.env.DATABASE_URL, onRead) } : shared;
  const asked: Workable[] = [];
  const until = dependencies.now().getTime() + ASK_MS;
  for (const work of events) {
    if (asked.length > 0 && dependencies.now().getTime() > until) break;
    const handler = handlerOf(work.event, dependencies.handlers);
    const isFirst = asked.length === 0;
    if (!isFirst && handler && readers.has(handler)) break;
    await ask(work, isGroup, tools, onRead, dependencies);
    if (reads > 0 && handler) readers.add(handler);
    if (reads > 0 && !isFirst) {
      work.result = undefined;
      delete work.failure;
      break;
    }
    asked.push(work);
    if (work.failure || reads > 0) break;
  }
  return asked;
}

/** Handlers, and lists of them, that have read. Asked behind another event, their result would be thrown away. */
const readers = new WeakSet<Entry>();

/** Asks the handler of an event within its time limit. */
async function ask(
  work: Workable,
  isGroup: boolean,
  tools: Omit<Tools, 'fetch'>,
  onRead: () => void,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { handlerMs, random } = dependencies;
  const { event } = work;
  const fetchAndNote: typeof fetch = (...call) => {
    onRead();
    return fetch(...call);
  };
  let handler: string | undefined;
  const outside = watchCalls(fetchInTrace(fetchAndNote, event.headers.traceparent, random));
  try {
    const asking = askHandler(event, dependencies, { ...tools, fetch: outside.fetch }, (name) => {
      handler = name;
    });
    work.result = await withTimeLimit(handlerMs, asking, () => {
      const late = withFailure(new Error(`the handler took longer than ${handlerMs / 1000} s`), 'time_limit');
      markLate(late, outside.last());
      throw late;
    });
    work.called = outside.succeeded();
  } catch (thrown) {
    const error = withHost(thrown, outside.last());
    // If a handler's query fails while other events are worked, Postgres may be away. The event comes again alone.
    const isAboutPostgres = isGroup && DatabaseError.isRetryable(error);
    work.failure = { error, handler, ...(isAboutPostgres && { outcome: databaseUnavailable(error) }) };
  }
}

/** What became of an event, once its handler was asked and its changes are committed or not. */
function outcomeOf(
  { event, result, failure }: EventAnswer,
  env: ConsumerBindings,
  { handlers, random, now }: ConsumerDependencies,
): Outcome {
  if (failure === undefined) {
    return result?.status === 'ignored' ? { outcome: 'ignored', reason: result.summary } : { outcome: 'done' };
  }
  const { error, handler } = failure;
  if (failure.outcome) return failure.outcome;
  const entry = handlerOf(event, handlers);
  // Without a handler, nothing of the event is in its transaction: it can't be what Postgres has refused.
  const isBlameless = entry === undefined && DatabaseError.isFromDatabase(error) && !isCompletedBefore(error);
  if (isBlameless) return databaseUnavailable(error);
  const limits = entry && limitsOf(entry);
  const { attempts: attemptsBefore, failingSince, failingHosts } = event;
  const patience = {
    now: now(),
    failingSince,
    okAt: (host: string) => {
      const time = failingHosts?.[host];
      return time ? new Date(time) : null;
    },
    pauseSeconds: PAUSE_SECONDS,
    longestSeconds: LAST_SECONDS,
  };
  return judge(error, { attemptsBefore, random: random(), env, handler, ...limits, patience });
}
