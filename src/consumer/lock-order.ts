import type { Completion } from '../db/complete.ts';

/**
 * Sorts the events of a group so that groups lock common rows in the same order, and so don't deadlock over them. Only
 * Postgres knows which rows a statement changes. But events that change the same row usually have a parameter in common,
 * like a customer's id. So events are sorted by those parameters that other events of the group have too.
 *
 * A wrong guess costs only time: a group that deadlocks, or waits too long, is committed one by one. The order of events
 * is not promised, and the statements of one event stay together, in their order.
 */
export function inLockOrder(group: readonly Completion[]): Completion[] {
  const keys = group.map(
    ({ statements }) => new Set(statements.flatMap(({ params }) => params.filter(isKey).map(String))),
  );
  const uses = new Map<string, number>();
  for (const key of keys.flatMap((ofEvent) => [...ofEvent])) uses.set(key, (uses.get(key) ?? 0) + 1);
  const shared = keys.map((ofEvent) => [...ofEvent].filter((key) => (uses.get(key) ?? 0) > 1).join('\n'));
  return group
    .map((event, n) => ({ event, order: shared[n] ?? '' }))
    .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
    .map(({ event }) => event);
}

/** Rows are found by texts and numbers. */
function isKey(param: unknown): boolean {
  return typeof param === 'string' || typeof param === 'number' || typeof param === 'bigint';
}
