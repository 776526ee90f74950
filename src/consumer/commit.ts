import type { Database } from '../db/client.ts';
import { complete } from '../db/complete.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { keyText } from '../db/keys.ts';
import { loadEvents } from '../db/load.ts';
import { inLockOrder } from './lock-order.ts';
import type { Failed, Prepared } from './prepare.ts';

export interface Committed {
  readonly committed: readonly Prepared[];
  /** Each failed in a transaction of its own. */
  readonly failed: readonly Failed[];
  /** Not committed because of an error that may be about any of them, or about none. They come again, each alone. */
  readonly undecided: readonly Failed[];
}

/** Commits events together, except those whose changes would be felt by the others. */
export async function commitEvents(db: Database, prepared: readonly Prepared[], now: Date): Promise<Committed> {
  const group = prepared.filter(({ alone }) => !alone);
  const rest = prepared.filter(({ alone }) => alone);
  return join(await commitGroup(db, group, now), await commitEachAlone(db, rest, now));
}

/**
 * Commits events as a group: all their changes and completions in one transaction. If it fails because of one event, the
 * others must not suffer: events that somebody else has completed are taken out, or each half is committed as a group,
 * so that one bad event of a hundred costs 15 transactions, and not 101.
 */
async function commitGroup(db: Database, group: readonly Prepared[], now: Date): Promise<Committed> {
  const error = await errorOfCommit(db, group, now);
  if (error === undefined) return { ...NONE, committed: group };
  if (group.length === 1) return { ...NONE, failed: withError(group, error) };
  if (!isCausedByOneEvent(error)) return { ...NONE, undecided: withError(group, error) };
  // Each half would meet the same locks again, and wait for them again.
  if (isAboutLocks(error)) return commitEachAlone(db, group, now);
  if (!isCompletedBefore(error)) return commitHalves(db, group, now);

  const { pending, finished } = await splitByStatus(db, group);
  // Nobody else has finished any of them, so the error is about one of them alone.
  if (finished.length === 0) return commitHalves(db, group, now);
  return join({ ...NONE, failed: withError(finished, error) }, await commitGroup(db, pending, now));
}

async function commitHalves(db: Database, group: readonly Prepared[], now: Date): Promise<Committed> {
  const middle = Math.ceil(group.length / 2);
  const [first, rest] = [await commitGroup(db, group.slice(0, middle), now), group.slice(middle)];
  const [undecided] = first.undecided;
  // If Postgres is away, trying the others would only take time.
  if (undecided) return join(first, { ...NONE, undecided: withError(rest, undecided.error) });
  return join(first, await commitGroup(db, rest, now));
}

async function commitEachAlone(db: Database, group: readonly Prepared[], now: Date): Promise<Committed> {
  const committed: Prepared[] = [];
  const failed: Failed[] = [];
  for (const [index, prepared] of group.entries()) {
    const error = await errorOfCommit(db, [prepared], now);
    if (error === undefined) committed.push(prepared);
    else failed.push(...withError([prepared], error));
    // If Postgres is away, trying the others would only take time.
    if (error !== undefined && !isCausedByOneEvent(error)) {
      return { committed, failed, undecided: withError(group.slice(index + 1), error) };
    }
  }
  return { committed, failed, undecided: [] };
}

const NONE: Committed = { committed: [], failed: [], undecided: [] };

function join(one: Committed, other: Committed): Committed {
  return {
    committed: [...one.committed, ...other.committed],
    failed: [...one.failed, ...other.failed],
    undecided: [...one.undecided, ...other.undecided],
  };
}

async function errorOfCommit(db: Database, group: readonly Prepared[], now: Date): Promise<unknown> {
  if (group.length === 0) return undefined;
  try {
    await complete(db, inLockOrder(group.map(({ completion }) => completion)), now);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Costs one query, and keeps the events together that nobody else has worked meanwhile. */
async function splitByStatus(db: Database, group: readonly Prepared[]) {
  const loaded = await loadEvents(
    db,
    group.map(({ event }) => event),
  );
  const pendingKeys = new Set(loaded.filter(({ status }) => status === 'pending').map(keyText));
  const isPending = ({ event }: Prepared) => pendingKeys.has(keyText(event));
  return { pending: group.filter(isPending), finished: group.filter((prepared) => !isPending(prepared)) };
}

function withError(group: readonly Prepared[], error: unknown): Failed[] {
  return group.map(({ event }) => ({ outcome: 'failed', event, error }));
}

/** A deadlock or a serialization failure passes at once. Any other retryable error may mean that Postgres is away. */
function isCausedByOneEvent(error: unknown): boolean {
  return !DatabaseError.from(error).retryable || isAboutLocks(error);
}

/** A serialization failure, a deadlock, or a lock that was not free in time (`lock_timeout`). */
function isAboutLocks(error: unknown): boolean {
  return ['40001', '40P01', '55P03'].includes(DatabaseError.from(error).code ?? '');
}
