import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type WorkerConfig, wranglerArguments } from '../config/worker-config.ts';
import { programOf } from '../lib/app.ts';

/**
 * Cloudflare's own builds (Workers Builds) set these for the one Worker that they were connected to. The first renames
 * whatever is deployed, so the consumer would overwrite the receiver; with the second, every other Worker is refused.
 */
const OF_ONE_WORKER = ['WRANGLER_CI_OVERRIDE_NAME', 'WRANGLER_CI_MATCH_TAG'];

export interface WranglerOptions {
  /** Which Worker it is about, in which environment. */
  readonly config?: Pick<WorkerConfig, 'path' | 'environment'>;
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
  { config, show = false }: WranglerOptions = {},
): Promise<WranglerResult> {
  const about = config ? wranglerArguments(config) : [];
  const variables: NodeJS.ProcessEnv = { ...process.env, WRANGLER_HIDE_BANNER: 'true' };
  for (const name of OF_ONE_WORKER) delete variables[name];
  const child = spawn(process.execPath, [programOf('wrangler'), ...args, ...about], {
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    env: variables,
  });
  const end = () => void child.kill();
  process.once('exit', end);
  let out = '';
  let error = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (error += text));
  const [code] = await once(child, 'close');
  process.off('exit', end);
  return { isDone: code === 0, out, problem: problemIn(error + out) };
}

/** What it says is wrong, in one line: without the colours, the frame, and the advice to report it. */
function problemIn(output: string): string {
  const text = stripVTControlCharacters(output);
  const [, reason = text.slice(-500)] =
    /(?:✘ \[ERROR\]|Error:|🚨) ?([\s\S]*?)(?:If you think this is a bug|✘|🪵|$)/u.exec(text) ?? [];
  return reason.replaceAll(/\s+/g, ' ').trim() || 'it said nothing';
}

/**
 * Secrets for a deploy, in a file that only this user can read. It is gone afterwards, also when a signal has ended us, if
 * somebody has called `process.exit` for it.
 */
export async function withSecretsFile<Result>(
  secrets: Readonly<Record<string, string>>,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-secrets-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const path = join(folder, 'secrets.json');
    writeFileSync(path, JSON.stringify(secrets), { mode: 0o600 });
    return await use(path);
  } finally {
    remove();
    process.off('exit', remove);
  }
}
