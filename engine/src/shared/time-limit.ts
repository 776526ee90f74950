/**
 * Waits for work at most this long. After that, returns or throws what `late` does. The work itself continues, but
 * nobody waits for it.
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
