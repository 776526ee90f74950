import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { UserError } from '../lib/user-error.ts';

/** Does one part of a check, and says in a line that it passed. */
export async function step<Result>(title: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    const result = await work();
    console.log(`ok  ${title}`);
    return result;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`failed at ${title}\n${error.message}`);
  }
}

/** A part of a check that is a program. What it prints is shown only if it fails. */
export async function run(title: string, [program = '', ...args]: readonly string[]): Promise<void> {
  await step(title, () => {
    const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', program), args, {
      encoding: 'utf8',
      // A program that asks a question gets no answer, and fails.
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (status !== 0) throw new UserError((stdout + stderr).trim());
  });
}
