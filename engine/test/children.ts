import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the tests of this process have started, and what has not ended. A test that fails leaves its own behind. */
const running = new Set<ChildProcess>();

/** A dev ends the Workers and Postgres itself, in a few seconds. */
const ENDS_WITHIN_MS = 10_000;

/** It must be the leader of a process group (`detached`), so that what it has started is ended with it. */
export function endLater(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

/** Runs after every test file (end-children.ts). */
export async function endChildren(): Promise<void> {
  const left = [...running];
  if (left.length === 0) return;
  const ended = Promise.all(left.map((child) => once(child, 'exit')));
  for (const child of left) signalGroup(child, 'SIGINT');
  await Promise.race([ended, sleep(ENDS_WITHIN_MS)]);
  for (const child of left) signalGroup(child, 'SIGKILL');
}

// A Ctrl-C in the terminal reaches no other process group.
process.on('exit', () => {
  for (const child of running) signalGroup(child, 'SIGINT');
});

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid) process.kill(-pid, signal);
  } catch {
    // No process is left in the group.
  }
}
