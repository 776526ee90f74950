import { withTimeLimit } from '../time-limit.ts';

/** Works through a list, at most `count` items at the same time. The results have the order of the list. */
export async function atMost<Item, Result>(
  count: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [index, item] of rest) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: count }, worker));
  return results;
}

/** Throws if the work of a handler or an effect takes too long, so that its batch no longer waits for it. */
export async function inTime<Value>(ms: number, what: string, work: Value | Promise<Value>): Promise<Value> {
  return withTimeLimit(ms, work, () => {
    throw new Error(`${what} took longer than ${ms / 1000} s`);
  });
}
