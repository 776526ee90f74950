import { parentOf } from './processes.ts';

/** How long a closed terminal may go unnoticed. */
const PARENT_EVERY_MS = 1000;

/**
 * npm may be killed without a signal for us. Whoever is left alone gets another parent: we do, or on Linux the shell in
 * which npm starts us. (On macOS that shell has replaced itself by us.)
 */
function parentsNow(): string {
  const { ppid, env } = process;
  return `${ppid} ${env.npm_lifecycle_event ? parentOf(ppid) : ''}`;
}

export interface Lifetime {
  /** Takes how to end what has been started. The last is ended first. */
  readonly ends: { defer(end: () => unknown): void };
  readonly stop: (code: number) => Promise<void>;
  readonly isStopping: () => boolean;
}

/** Starts what runs until Ctrl-C, and then ends it again. */
export async function untilStopped(start: (lifetime: Lifetime) => Promise<void>): Promise<void> {
  // Node 22 has no AsyncDisposableStack.
  const ends: (() => unknown)[] = [];
  const endAll = async () => {
    for (const end of ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        console.error(error);
      }
    }
  };
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    // A server that is still starting can be stopped only when it has started.
    await starting.catch(() => {});
    await endAll();
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  const parents = parentsNow();
  setInterval(() => parentsNow() !== parents && void stop(0), PARENT_EVERY_MS).unref();
  const starting = start({ ends: { defer: (end) => ends.push(end) }, stop, isStopping: () => stopping });
  try {
    await starting;
  } catch (error) {
    // A Ctrl-C in a terminal also ends initdb, and its failure is then expected.
    if (stopping) return;
    await endAll();
    throw error;
  }
}
