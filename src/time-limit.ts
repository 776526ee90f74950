/**
 * Waits for work at most this long. Afterwards `late` says what to return, or what to throw. The work itself can't be
 * stopped and goes on, but nobody waits for it any longer.
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
