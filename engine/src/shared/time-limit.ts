/** Waits for work at most this long, and then returns or throws what `late` does. The work itself continues. */
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
