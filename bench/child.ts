import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child<Started> {
  readonly pid: number;
  /** What the program sent when it was ready. */
  readonly started: Started;
  /** Sends a message and resolves to the answer. One at a time. */
  ask<Answer>(message: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a program of this folder as a process of its own. It sends one message when it is ready. */
export async function startChild<Started>(file: string, ...args: readonly string[]): Promise<Child<Started>> {
  const child = fork(fileURLToPath(import.meta.resolve(`./${file}`)), args, { serialization: 'advanced' });
  const started = await messageOf<Started>(child, file);
  return {
    pid: child.pid ?? 0,
    started,
    ask(message) {
      const answer = messageOf(child, file);
      child.send(message as object);
      return answer as Promise<never>;
    },
    stop: () => end(child),
  };
}

/** Ends a process that holds nothing worth keeping, and resolves when it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function messageOf<Message>(child: ChildProcess, file: string): Promise<Message> {
  const waiting = new AbortController();
  const message = once(child, 'message', { signal: waiting.signal }).then(([first]) => first as Message);
  const exited = once(child, 'exit', { signal: waiting.signal }).then(([code]) => {
    throw new Error(`${file} ended with ${code}`);
  });
  return Promise.race([message, exited]).finally(() => {
    for (const promise of [message, exited]) promise.catch(() => {});
    waiting.abort();
  });
}
