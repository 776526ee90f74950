import type { Database } from '../db/client.ts';
import { DatabaseError, isCompletedBefore, isTurnLost } from '../db/errors.ts';
import { type Completion, complete, loadEvents, type WorkableEvent } from '../db/events.ts';
import { keyText } from '../db/keys.ts';
import { firstOfLines, type Line, linesIn, takeTurns } from '../db/order.ts';
import { EFFECT_KEY_ONCE } from '../db/schema.ts';
import { changesSettings } from '../db/user-statement.ts';
import { PermanentError, withFailure } from '../kit/errors.ts';
import type { Condition, HandlerResult } from './ask-handler.ts';
import { databaseUnavailable, NOT_ITS_TURN, type Outcome } from './outcomes.ts';

/** An event with the answer of its handler. */
export interface EventAnswer {
  event: WorkableEvent;
  /** What the handler wants. Undefined if it failed. */
  result?: HandlerResult | undefined;
  /** Why nothing of it was committed. */
  failure?: {
    readonly error: unknown;
    /** Which handler of a list has failed. */
    readonly handler?: string | undefined;
    /** What becomes of the event, if its own error doesn't decide that. */
    readonly outcome?: Outcome;
  };
}

/** An event whose handler has said what to change. */
export interface ToCommit extends EventAnswer {
  readonly result: HandlerResult;
}

/** Events that are completed in this order. Without an order key, an event is a run of its own. */
export interface Run<Event extends EventAnswer = EventAnswer> {
  readonly events: readonly Event[];
  /** Of the order key. It changes with each commit. */
  readonly line?: Line | undefined;
}

/**
 * Commits runs together. Where the commit of an event fails, its `failure` says why. Statements that change settings
 * (`set local`, `set_config`) would do so for the events behind them, so a run with one is committed event by event.
 */
export async function commitRuns(db: Database, runs: readonly Run<ToCommit>[], now: Date): Promise<void> {
  const isForItself = ({ events }: Run<ToCommit>) =>
    events.some(({ result }) => result.statements.some(({ sql }) => changesSettings(sql)));
  const group = runs.filter((run) => !isForItself(run));
  if (group.length > 0) await commitGroup(db, group, now);
  if (group.length < runs.length) await commitEachAlone(db, runs.filter(isForItself), now);
}

/**
 * Commits runs as a group: all their changes and completions in one transaction. If one event makes it fail, the
 * others must not suffer: events that another consumer has completed are taken out, or each half is committed as a
 * group, so that one bad event of a hundred costs 15 transactions, and not 101.
 */
async function commitGroup(db: Database, group: readonly Run<ToCommit>[], now: Date): Promise<void> {
  const error = await errorOfCommit(db, group, now);
  if (error === undefined) return;
  // The parts of a group would each load the next events of their lines.
  for (const { line } of group) if (line) line.lookFor = 0;
  const events = group.flatMap((run) => run.events);
  if (events.length === 1 || (group.length === 1 && isTurnLost(error))) return fail(events, error);
  if (!isCausedByOneEvent(error)) return fail(events, error, databaseUnavailable(error));
  // Each half would meet the same locks again, and wait for them again.
  if (isAboutLocks(error)) return commitEachAlone(db, group, now);
  if (!isCompletedBefore(error) || group.some(({ line }) => line)) return commitHalves(db, group, now);

  const { pending, finished } = await splitByStatus(db, group);
  // Nobody else has finished any of them, so the error is about one of them alone.
  if (finished.length === 0) return commitHalves(db, group, now);
  fail(
    finished.flatMap((run) => run.events),
    error,
  );
  if (pending.length > 0) await commitGroup(db, pending, now);
}

async function commitHalves(db: Database, group: readonly Run<ToCommit>[], now: Date): Promise<void> {
  const [first, rest] = halvesOf(group);
  await commitGroup(db, first, now);
  const failures = first.flatMap(({ events }) => events.flatMap(({ failure }) => failure ?? []));
  // If Postgres is away, trying the others would only take time.
  const postponed = failures.find(({ outcome }) => outcome?.outcome === 'database_unavailable');
  if (postponed)
    return fail(
      rest.flatMap((run) => run.events),
      postponed.error,
      postponed.outcome,
    );
  // The rest of a run waits for what comes before it.
  if (group.length === 1 && failures.length > 0)
    return fail(
      rest.flatMap((run) => run.events),
      undefined,
      NOT_ITS_TURN,
    );
  await commitGroup(db, rest, now);
}

/** Of a group half of its runs. Of a single run its first events, and then the others. */
function halvesOf(group: readonly Run<ToCommit>[]): readonly [readonly Run<ToCommit>[], readonly Run<ToCommit>[]] {
  const halves = <One>(list: readonly One[]) => {
    const middle = Math.ceil(list.length / 2);
    return [list.slice(0, middle), list.slice(middle)] as const;
  };
  const [run] = group;
  if (group.length > 1 || run === undefined) return halves(group);
  const [first, rest] = halves(run.events);
  return [[{ ...run, events: first }], [{ ...run, events: rest }]];
}

async function commitEachAlone(db: Database, runs: readonly Run<ToCommit>[], now: Date): Promise<void> {
  for (const [index, run] of runs.entries()) {
    for (const [place, event] of run.events.entries()) {
      const error = await errorOfCommit(db, [{ ...run, events: [event] }], now);
      if (error === undefined) continue;
      fail([event], error);
      const behind = run.events.slice(place + 1);
      fail(behind, undefined, NOT_ITS_TURN);
      // If Postgres is away, trying the others would only take time.
      const others = runs.slice(index + 1).flatMap(({ events }) => events);
      if (!isCausedByOneEvent(error)) return fail([...behind, ...others], error, databaseUnavailable(error));
      break;
    }
  }
}

async function errorOfCommit(db: Database, group: readonly Run<ToCommit>[], now: Date): Promise<unknown> {
  try {
    const turns = group.flatMap(({ line, events }) => {
      const last = events.at(-1)?.event;
      return line && last ? [{ line, last, next: crypto.randomUUID() }] : [];
    });
    const completions = inLockOrder(group.map(({ events }) => events.map(({ result }) => result)));
    if (turns.length === 0) {
      await complete(db, completions, now);
      return undefined;
    }
    const lines = turns.map(({ line }) => line);
    const lookFor = Math.max(...lines.map((line) => line.lookFor ?? 0));
    const look = lookFor > 0 ? firstOfLines(lines, lookFor) : undefined;
    const seen = linesIn(await complete(db, completions, now, { turns: takeTurns(turns), look }));
    for (const { line, next } of turns) {
      line.turn = next;
      line.next = seen.find(({ source, orderKey }) => source === line.source && orderKey === line.orderKey)?.events;
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Costs one query, and keeps the events together that nobody else has worked meanwhile. */
async function splitByStatus(db: Database, group: readonly Run<ToCommit>[]) {
  const loaded = await loadEvents(
    db,
    group.flatMap(({ events }) => events.map(({ event }) => event)),
  );
  const pendingKeys = new Set(loaded.filter(({ status }) => status === 'pending').map(keyText));
  const isPending = ({ events }: Run<ToCommit>) => events.every(({ event }) => pendingKeys.has(keyText(event)));
  return { pending: group.filter(isPending), finished: group.filter((run) => !isPending(run)) };
}

function fail(events: readonly ToCommit[], error: unknown, outcome?: Outcome): void {
  for (const event of events) {
    event.failure = { ...explained(error, event.result), ...(outcome && { outcome }) };
  }
}

/** What Postgres refuses to wrap (`asCondition`): a syntax error, or a feature that is not supported there. */
const NOT_WRAPPABLE = ['42601', '0A000'];

/** The error of the `must()` that was not met, or that can't be a `must()`. */
function explained(
  error: unknown,
  { conditions, handlers: handler }: HandlerResult,
): Condition | NonNullable<EventAnswer['failure']> {
  if (DatabaseError.isFromDatabase(error) && DatabaseError.fromThrown(error).constraint === EFFECT_KEY_ONCE) {
    const problem = 'another effect of this kind and source has the key of this one: give each a key of its own';
    return { error: withFailure(new PermanentError(problem), 'changes'), handler };
  }
  if (conditions.length === 0 || !(error instanceof DatabaseError)) return { error, handler };
  if (!NOT_WRAPPABLE.includes(error.code ?? '')) return conditions[error.unmetCondition ?? -1] ?? { error, handler };
  const advice =
    'must() takes one select, or one insert, update or delete with `returning`. A `with` in it must only read';
  return { error: withFailure(new PermanentError(`${error.message}: ${advice}`), 'changes'), handler };
}

/** A deadlock or a serialization failure passes at once. Any other retryable error may mean that Postgres is away. */
function isCausedByOneEvent(error: unknown): boolean {
  return !DatabaseError.fromThrown(error).retryable || isAboutLocks(error);
}

/** A serialization failure, a deadlock, or a lock that was not free in time (`lock_timeout`). */
function isAboutLocks(error: unknown): boolean {
  return ['40001', '40P01', '55P03'].includes(DatabaseError.fromThrown(error).code ?? '');
}

/**
 * Sorts the runs of a group so that groups lock common rows in the same order, and so don't deadlock over them. Only
 * Postgres knows which rows a statement changes. But a parameter whose value several runs of the group share is usually a
 * key, like a customer's id, and then it is one in all events with the same statement. Runs are sorted by these.
 *
 * A wrong guess costs only time: a group that deadlocks, or waits too long, is committed event by event. The order of
 * runs is not promised, and the statements of one run stay together, in their order.
 */
export function inLockOrder(group: readonly (readonly Completion[])[]): readonly Completion[] {
  if (group.length === 1) return group.flat();
  const runs = group.map((run) => ({ run, params: run.flatMap(paramsOf) }));
  const seen = new Map<string, { readonly place: string; readonly run: readonly Completion[] }>();
  const keyPlaces = new Set<string>();
  for (const { run, params } of runs) {
    for (const { place, value } of params) {
      const first = seen.get(value);
      if (first === undefined) seen.set(value, { place, run });
      else if (first.run !== run) keyPlaces.add(first.place).add(place);
    }
  }
  return runs
    .map(({ run, params }) => {
      const keys = params.filter(({ place }) => keyPlaces.has(place)).map(({ value }) => value);
      return { run, order: [...new Set(keys)].join('\n') };
    })
    .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
    .flatMap(({ run }) => run);
}

/** The parameters that may be keys, which are texts and numbers, and the place of each in the text of its statement. */
function paramsOf({ statements }: Completion) {
  return statements.flatMap(({ sql, params }) =>
    params.flatMap((param, n) =>
      typeof param === 'string' || typeof param === 'number' || typeof param === 'bigint'
        ? [{ place: `${n} ${sql}`, value: String(param) }]
        : [],
    ),
  );
}
