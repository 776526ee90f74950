import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child<Started> extends AsyncDisposable {
  readonly pid: number;
  /** What the program sent when it was ready. */
  readonly started: Started;
  /** Sends a message and resolves to the answer. One at a time. */
  ask<Answer>(message: unknown): Promise<Answer>;
}

/** A child that is still there when this process ends, by Ctrl-C or by an error, is ended with it. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a program of this folder as a process of its own. It sends one message when it is ready. If it fails, all ends. */
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
      // It holds nothing worth keeping.
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const [message] = await once(child, 'message');
  return message;
}
