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
