/** How long a closed terminal may go unnoticed. */
const PARENT_EVERY_MS = 1000;

export interface Lifetime {
  /** How to end what has been started, in the reverse order. */
  readonly ends: AsyncDisposableStack;
  readonly stop: (code: number) => Promise<void>;
  readonly isStopping: () => boolean;
}

/** Starts what runs until Ctrl-C, and then ends it again. */
export async function untilStopped(start: (lifetime: Lifetime) => Promise<void>): Promise<void> {
  const ends = new AsyncDisposableStack();
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    // A server that is still starting can be stopped only when it has started.
    await starting.catch(() => {});
    await ends.disposeAsync();
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  // npm may be killed without a signal for us. Whoever is left alone gets another parent.
  const { ppid } = process;
  setInterval(() => process.ppid !== ppid && void stop(0), PARENT_EVERY_MS).unref();
  const starting = start({ ends, stop, isStopping: () => stopping });
  try {
    await starting;
  } catch (error) {
    // A Ctrl-C in a terminal also ends initdb, and its failure is then expected.
    if (stopping) return;
    await ends.disposeAsync();
    throw error;
  }
}
