import type { Database } from '../db/client.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { type Completion, complete, loadEvents, type WorkableEvent } from '../db/events.ts';
import { keyText } from '../db/keys.ts';
import { changesSettings } from '../db/user-statement.ts';
import { PermanentError, withFailure } from '../kit/errors.ts';
import type { HandlerResult } from './ask-handler.ts';

/** An event whose handler was asked. */
export interface Asked {
  readonly event: WorkableEvent;
  /** What the handler wants. Undefined if it failed. */
  result?: HandlerResult;
  /** Why the handler or the commit failed. */
  failure?: {
    readonly error: unknown;
    /** The error may be of any event of the group, or of none: no attempt is counted, and the event comes again alone. */
    readonly isPostponed: boolean;
  };
}

/** An event whose handler has said what to change. */
export interface ToCommit extends Asked {
  readonly result: HandlerResult;
}

/**
 * Commits events together. Where the commit of an event fails, its `failure` says why. Statements that change settings
 * (`set local`, `set_config`) would do so for the events behind them, so such an event is committed alone.
 */
export async function commitEvents(db: Database, events: readonly ToCommit[], now: Date): Promise<void> {
  const isForItself = ({ result }: ToCommit) => result.statements.some(({ sql }) => changesSettings(sql));
  const group = events.filter((event) => !isForItself(event));
  if (group.length > 0) await commitGroup(db, group, now);
  if (group.length < events.length) await commitEachAlone(db, events.filter(isForItself), now);
}

/**
 * Commits events as a group: all their changes and completions in one transaction. If one event makes it fail, the
 * others must not suffer: events that another consumer has completed are taken out, or each half is committed as a
 * group, so that one bad event of a hundred costs 15 transactions, and not 101.
 */
async function commitGroup(db: Database, group: readonly ToCommit[], now: Date): Promise<void> {
  const error = await errorOfCommit(db, group, now);
  if (error === undefined) return;
  if (group.length === 1) return fail(group, error, false);
  if (!isCausedByOneEvent(error)) return fail(group, error, true);
  // Each half would meet the same locks again, and wait for them again.
  if (isAboutLocks(error)) return commitEachAlone(db, group, now);
  if (!isCompletedBefore(error)) return commitHalves(db, group, now);

  const { pending, finished } = await splitByStatus(db, group);
  // Nobody else has finished any of them, so the error is about one of them alone.
  if (finished.length === 0) return commitHalves(db, group, now);
  fail(finished, error, false);
  if (pending.length > 0) await commitGroup(db, pending, now);
}

async function commitHalves(db: Database, group: readonly ToCommit[], now: Date): Promise<void> {
  const middle = Math.ceil(group.length / 2);
  const [first, rest] = [group.slice(0, middle), group.slice(middle)];
  await commitGroup(db, first, now);
  // If Postgres is away, trying the others would only take time.
  const postponed = first.find(({ failure }) => failure?.isPostponed);
  if (postponed) return fail(rest, postponed.failure?.error, true);
  await commitGroup(db, rest, now);
}

async function commitEachAlone(db: Database, group: readonly ToCommit[], now: Date): Promise<void> {
  for (const [index, one] of group.entries()) {
    const error = await errorOfCommit(db, [one], now);
    if (error === undefined) continue;
    fail([one], error, false);
    // If Postgres is away, trying the others would only take time.
    if (!isCausedByOneEvent(error)) return fail(group.slice(index + 1), error, true);
  }
}

async function errorOfCommit(db: Database, group: readonly ToCommit[], now: Date): Promise<unknown> {
  try {
    await complete(db, inLockOrder(group.map(({ result }) => result)), now);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Costs one query, and keeps the events together that nobody else has worked meanwhile. */
async function splitByStatus(db: Database, group: readonly ToCommit[]) {
  const events = group.map(({ event }) => event);
  const loaded = await loadEvents(db, events);
  const pendingKeys = new Set(loaded.filter(({ status }) => status === 'pending').map(keyText));
  const isPending = ({ event }: ToCommit) => pendingKeys.has(keyText(event));
  return { pending: group.filter(isPending), finished: group.filter((one) => !isPending(one)) };
}

function fail(group: readonly ToCommit[], error: unknown, isPostponed: boolean): void {
  for (const one of group) one.failure = { error: explained(error, one.result.conditions), isPostponed };
}

/** What Postgres refuses to wrap (`asCondition`): a syntax error, or a feature that is not supported there. */
const NOT_WRAPPABLE = ['42601', '0A000'];

/** The error of the `must()` that was not met, or that can't be a `must()`. */
function explained(error: unknown, conditions: readonly Error[]): unknown {
  if (conditions.length === 0 || !(error instanceof DatabaseError)) return error;
  if (!NOT_WRAPPABLE.includes(error.code ?? '')) return conditions[error.unmetCondition ?? -1] ?? error;
  const advice =
    'must() takes one select, or one insert, update or delete with `returning`. A `with` in it must only read';
  return withFailure(new PermanentError(`${error.message}: ${advice}`), 'changes');
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
 * Sorts the events of a group so that groups lock common rows in the same order, and so don't deadlock over them. Only
 * Postgres knows which rows a statement changes. But a parameter whose value several events of the group share is
 * usually a key, like a customer's id, and then it is one in all events with the same statement. Events are sorted by these.
 *
 * A wrong guess costs only time: a group that deadlocks, or waits too long, is committed event by event. The order of
 * events is not promised, and the statements of one event stay together, in their order.
 */
export function inLockOrder(group: readonly Completion[]): readonly Completion[] {
  if (group.length === 1) return group;
  const events = group.map((event) => ({ event, params: paramsOf(event) }));
  const seen = new Map<string, { readonly place: string; readonly event: Completion }>();
  const keyPlaces = new Set<string>();
  for (const { event, params } of events) {
    for (const { place, value } of params) {
      const first = seen.get(value);
      if (first === undefined) seen.set(value, { place, event });
      else if (first.event !== event) keyPlaces.add(first.place).add(place);
    }
  }
  return events
    .map(({ event, params }) => {
      const keys = params.filter(({ place }) => keyPlaces.has(place)).map(({ value }) => value);
      return { event, order: [...new Set(keys)].join('\n') };
    })
    .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
    .map(({ event }) => event);
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
