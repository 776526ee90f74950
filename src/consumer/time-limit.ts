/** Fails what takes too long. The work itself can't be stopped, but nobody waits for it any more. */
export async function timeLimit<Value>(ms: number, what: string, work: Value | Promise<Value>): Promise<Value> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms);
  return Promise.race([work, timeUp]).finally(() => clearTimeout(timer));
}
