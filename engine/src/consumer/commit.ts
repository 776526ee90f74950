import type { Database } from '../db/client.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { type Completion, complete, loadEvents, type WorkableEvent } from '../db/events.ts';
import { keyText } from '../db/keys.ts';
import { PermanentError, withFailure } from '../kit/errors.ts';

/** An event whose handler has said what to change. */
export interface EventToCommit {
  readonly outcome: 'to_commit';
  readonly event: WorkableEvent;
  readonly completion: Completion;
  /** One error for each `must()`, in the order of the statements. */
  readonly conditions: readonly Error[];
  /** By `set local` or `set_config`. They would hold for the changes of the events after it, so it is committed alone. */
  readonly changesSettings: boolean;
}

/** An event whose handler or commit failed. */
export interface EventFailure {
  readonly outcome: 'failed';
  readonly event: WorkableEvent;
  readonly error: unknown;
}

export interface CommitResult {
  readonly committed: readonly EventToCommit[];
  /** Each failed in a transaction of its own. */
  readonly failed: readonly EventFailure[];
  /** Not committed because of an error that may be about any of them, or about none. They come again, each alone. */
  readonly postponed: readonly EventFailure[];
}

/** Commits events together, except those whose changes would affect the others. */
export async function commitEvents(db: Database, events: readonly EventToCommit[], now: Date): Promise<CommitResult> {
  const group = events.filter(({ changesSettings }) => !changesSettings);
  const rest = events.filter(({ changesSettings }) => changesSettings);
  const together = group.length > 0 ? await commitGroup(db, group, now) : NONE;
  return rest.length > 0 ? join(together, await commitEachAlone(db, rest, now)) : together;
}

/**
 * Commits events as a group: all their changes and completions in one transaction. If one event makes it fail, the
 * others must not suffer: events that another consumer has completed are taken out, or each half is committed as a
 * group, so that one bad event of a hundred costs 15 transactions, and not 101.
 */
async function commitGroup(db: Database, group: readonly EventToCommit[], now: Date): Promise<CommitResult> {
  const error = await errorOfCommit(db, group, now);
  if (error === undefined) return { ...NONE, committed: group };
  if (group.length === 1) return { ...NONE, failed: withError(group, error) };
  if (!isCausedByOneEvent(error)) return { ...NONE, postponed: withError(group, error) };
  // Each half would meet the same locks again, and wait for them again.
  if (isAboutLocks(error)) return commitEachAlone(db, group, now);
  if (!isCompletedBefore(error)) return commitHalves(db, group, now);

  const { pending, finished } = await splitByStatus(db, group);
  // Nobody else has finished any of them, so the error is about one of them alone.
  if (finished.length === 0) return commitHalves(db, group, now);
  const others = pending.length > 0 ? await commitGroup(db, pending, now) : NONE;
  return join({ ...NONE, failed: withError(finished, error) }, others);
}

async function commitHalves(db: Database, group: readonly EventToCommit[], now: Date): Promise<CommitResult> {
  const middle = Math.ceil(group.length / 2);
  const rest = group.slice(middle);
  const first = await commitGroup(db, group.slice(0, middle), now);
  const [postponed] = first.postponed;
  // If Postgres is away, trying the others would only take time.
  if (postponed) return join(first, { ...NONE, postponed: withError(rest, postponed.error) });
  return join(first, await commitGroup(db, rest, now));
}

async function commitEachAlone(db: Database, group: readonly EventToCommit[], now: Date): Promise<CommitResult> {
  const committed: EventToCommit[] = [];
  const failed: EventFailure[] = [];
  for (const [index, one] of group.entries()) {
    const error = await errorOfCommit(db, [one], now);
    if (error === undefined) committed.push(one);
    else failed.push(...withError([one], error));
    // If Postgres is away, trying the others would only take time.
    if (error !== undefined && !isCausedByOneEvent(error)) {
      return { committed, failed, postponed: withError(group.slice(index + 1), error) };
    }
  }
  return { committed, failed, postponed: [] };
}

const NONE: CommitResult = { committed: [], failed: [], postponed: [] };

function join(one: CommitResult, other: CommitResult): CommitResult {
  return {
    committed: [...one.committed, ...other.committed],
    failed: [...one.failed, ...other.failed],
    postponed: [...one.postponed, ...other.postponed],
  };
}

async function errorOfCommit(db: Database, group: readonly EventToCommit[], now: Date): Promise<unknown> {
  try {
    await complete(db, inLockOrder(group.map(({ completion }) => completion)), now);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Costs one query, and keeps the events together that nobody else has worked meanwhile. */
async function splitByStatus(db: Database, group: readonly EventToCommit[]) {
  const events = group.map(({ event }) => event);
  const loaded = await loadEvents(db, events);
  const pendingKeys = new Set(loaded.filter(({ status }) => status === 'pending').map(keyText));
  const isPending = ({ event }: EventToCommit) => pendingKeys.has(keyText(event));
  return { pending: group.filter(isPending), finished: group.filter((one) => !isPending(one)) };
}

function withError(group: readonly EventToCommit[], error: unknown): EventFailure[] {
  return group.map(({ event, conditions }) => ({ outcome: 'failed', event, error: explained(error, conditions) }));
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
export function inLockOrder(group: readonly Completion[]): Completion[] {
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
