import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child<Started> extends AsyncDisposable {
  readonly pid: number;
  /** The message that the program sent when it was ready. */
  readonly started: Started;
  /** Sends a message and resolves to the answer. Only one call at a time. */
  ask<Answer>(message: unknown): Promise<Answer>;
}

/** Children to end when this process ends by Ctrl-C or an error. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a program of this folder in a separate process. It sends one message when it is ready. If it fails, the
 * benchmark ends.
 */
export async function startChild<Started>(file: string, ...args: readonly string[]): Promise<Child<Started>> {
  const path = fileURLToPath(import.meta.resolve(`./${file}`));
  const child = fork(path, args, { serialization: 'advanced' });
  running.add(child);
  child.once('exit', (code) => {
    if (!running.has(child)) return;
    console.error(`bench: ${file} ended with ${code}`);
    process.exit(1);
  });
  return {
    pid: child.pid ?? 0,
    started: await messageOf<Started>(child),
    ask(message) {
      const answer = messageOf(child);
      child.send(message as object);
      return answer as Promise<never>;
    },
    async [Symbol.asyncDispose]() {
      running.delete(child);
      const ended = once(child, 'exit');
      // It has no data worth keeping.
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const [message] = await once(child, 'message');
  return message;
}
