import type { Database } from '../db/client.ts';
import { complete } from '../db/complete.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { keyText } from '../db/keys.ts';
import { loadEvents } from '../db/load.ts';
import type { Failed, Prepared } from './prepare.ts';

export interface Committed {
  readonly committed: readonly Prepared[];
  readonly failed: readonly Failed[];
}

/**
 * Commits events as a group: all their changes and completions in one transaction. If it fails because of one event, the
 * others must not suffer: events that somebody else has completed are taken out, or each is committed in its own transaction.
 */
export async function commitGroup(db: Database, group: readonly Prepared[], now: Date): Promise<Committed> {
  const error = await errorOfCommit(db, group, now);
  if (error === undefined) return { committed: group, failed: [] };
  if (group.length === 1 || !isCausedByOneEvent(error)) return { committed: [], failed: withError(group, error) };
  if (!isCompletedBefore(error)) return commitEachAlone(db, group, now);

  const { pending, finished } = await splitByStatus(db, group);
  // Nobody else has finished any of them, so the error is about one of them alone.
  if (finished.length === 0) return commitEachAlone(db, group, now);
  const rest = await commitGroup(db, pending, now);
  return { committed: rest.committed, failed: [...withError(finished, error), ...rest.failed] };
}

async function commitEachAlone(db: Database, group: readonly Prepared[], now: Date): Promise<Committed> {
  const committed: Prepared[] = [];
  const failed: Failed[] = [];
  let unavailable: unknown;
  for (const prepared of group) {
    // While Postgres is away, trying each event would only take time.
    const error = unavailable ?? (await errorOfCommit(db, [prepared], now));
    if (error === undefined) committed.push(prepared);
    else failed.push({ outcome: 'failed', event: prepared.event, error });
    if (error !== undefined && !isCausedByOneEvent(error)) unavailable = error;
  }
  return { committed, failed };
}

async function errorOfCommit(db: Database, group: readonly Prepared[], now: Date): Promise<unknown> {
  if (group.length === 0) return undefined;
  try {
    await complete(
      db,
      group.map(({ completion }) => completion),
      now,
    );
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

/** A deadlock or a serialization failure passes at once. Any other retryable error says that Postgres is away. */
function isCausedByOneEvent(error: unknown): boolean {
  const { retryable, code } = DatabaseError.from(error);
  return !retryable || code === '40P01' || code === '40001';
}
