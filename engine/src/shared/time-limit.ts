/**
 * Waits for work at most this long. Then `late` says what to return or to throw. The work itself goes on, but the caller
 * doesn't wait for it.
 */
export async function withTimeLimit<Value, Late>(
  ms: number,
  work: Value | Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    return await Promise.race([work, timeUp.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

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
