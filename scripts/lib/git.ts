import { spawnSync } from 'node:child_process';
import { UserError } from './user-error.ts';

export interface GitOptions {
  readonly cwd?: string;
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
}

export interface GitResult {
  readonly status: number;
  readonly out: Buffer;
  readonly error: string;
}

/** Runs git, which may fail. */
export function tryGit(args: readonly string[], { cwd, input, env }: GitOptions = {}): GitResult {
  const { status, stdout, stderr, error } = spawnSync('git', args, {
    cwd,
    input,
    // A wrong URL on GitHub would ask for a user name. A repository that needs a password has a credential helper.
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0', ...env },
    maxBuffer: Number.POSITIVE_INFINITY,
  });
  if (error) throw new UserError(`git could not be run: ${error.message}`);
  return { status: status ?? 1, out: stdout, error: stderr.toString().trim() };
}

/** What git prints. If it fails, an error with what it says. */
export function git(args: readonly string[], options: GitOptions = {}): string {
  const { status, out, error } = tryGit(args, options);
  if (status !== 0) throw new UserError(`git ${args[0]} failed: ${error}`);
  return out.toString();
}
