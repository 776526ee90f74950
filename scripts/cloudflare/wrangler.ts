import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { WorkerConfig } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';

const WRANGLER = 'node_modules/wrangler/bin/wrangler.js';

/**
 * Cloudflare's own builds (Workers Builds) set these for the one Worker that they were connected to. The first renames
 * whatever is deployed, so the consumer would overwrite the receiver; with the second, every other Worker is refused.
 */
const OF_ONE_WORKER = ['WRANGLER_CI_OVERRIDE_NAME', 'WRANGLER_CI_MATCH_TAG'];

export interface WranglerOptions {
  /** Which Worker it is about, and in which environment. Without an environment, the one at the top of the file. */
  readonly config?: Pick<WorkerConfig, 'path'>;
  readonly env?: string | undefined;
  /** What it reads from its standard input. A secret is in no file and no argument. */
  readonly input?: string;
  /** Shows what it prints. */
  readonly show?: boolean;
}

export interface WranglerResult {
  readonly isDone: boolean;
  readonly out: string;
  /** Why it failed, in its own words. */
  readonly problem: string;
}

/** Runs wrangler, which asks nothing and takes its defaults. */
export async function runWrangler(
  args: readonly string[],
  { config, env, input, show = false }: WranglerOptions = {},
): Promise<WranglerResult> {
  const about = config ? ['-c', config.path, '--env', env ?? ''] : [];
  const variables: NodeJS.ProcessEnv = { ...process.env, WRANGLER_HIDE_BANNER: 'true' };
  for (const name of OF_ONE_WORKER) delete variables[name];
  const child = spawn(process.execPath, [WRANGLER, ...args, ...about], {
    stdio: [input === undefined ? 'ignore' : 'pipe', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    env: variables,
  });
  let out = '';
  let error = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (error += text));
  child.stdin?.on('error', () => {}).end(input);
  const [code] = await once(child, 'close');
  return { isDone: code === 0, out, problem: problemIn(error + out) };
}

/** What a command of wrangler prints as JSON, or one line that says why it failed. */
export async function askWrangler<Result>(args: readonly string[], options: WranglerOptions = {}): Promise<Result> {
  const { isDone, out, problem } = await runWrangler(args, options);
  if (!isDone) throw new UserError(`wrangler ${args.join(' ')} failed: ${problem}`);
  return JSON.parse(out);
}

/** The line of its output that says what is wrong, without the colours and the frame. */
function problemIn(output: string): string {
  const lines = output
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
    .replaceAll(/\u001b\[[\d;]*m/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const errors = lines.flatMap((line) => /(?:✘ \[ERROR\]|Error:|🚨) ?(.+)/u.exec(line)?.[1] ?? []);
  return errors.at(-1) ?? lines.at(-1) ?? 'it said nothing';
}
