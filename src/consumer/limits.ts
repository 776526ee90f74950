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

/** Rejects if the work takes too long. The work itself can't be stopped, but the batch no longer waits for it. */
export async function withTimeLimit<Value>(ms: number, what: string, work: Value | Promise<Value>): Promise<Value> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms);
  return Promise.race([work, timeUp]).finally(() => clearTimeout(timer));
}
