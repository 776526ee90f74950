import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { searchCommand } from '../canaries/commands.ts';
import type { Checkout } from '../local/checkout.ts';

/** Runs `npm run ops` as a script does: without a terminal. */
export function startOps({ path: cwd }: Checkout, args: readonly string[], env: Record<string, string>) {
  // Times without a zone are in UTC, wherever the operator is.
  const cut = { ...process.env, OPS_TOKEN: undefined, PORT: undefined, TZ: 'America/New_York' };
  const child = spawn(process.execPath, ['scripts/run.mjs', 'ops', ...args], {
    cwd,
    env: { ...cut, ...env } as NodeJS.ProcessEnv,
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const ended = once(child, 'close').then(([code]) => {
    searchCommand(cwd, env, ['ops', ...args], out + err);
    return { code: code as number | null, out, err };
  });
  return { child, ended, out: () => out, err: () => err };
}
