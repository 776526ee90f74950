import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { format } from 'node:util';
import { neonConfig } from '@neondatabase/serverless';
import { vi } from 'vitest';
import '../src/db/client.ts';
import { copyCheckout, STRANGE_FOLDER } from '../workshop/checkout.ts';
import { searchCommand } from './canaries/commands.ts';
import { endLater } from './children.ts';
import { APP } from './orders-app.ts';

const COPIED = ['drizzle', 'package.json', 'tsconfig.json', 'drizzle.config.ts'];

/** A checkout of its own with an app of its own: what commands do must not depend on what is in src. */
export interface Checkout {
  readonly path: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a command as `npm run` does. */
  run(args: readonly string[], env?: Record<string, string>): RunningCommand;
  /** Runs a command in this process, which takes a tenth of the time. Only one at a time. */
  call(args: readonly string[], env?: Record<string, string>): Promise<CommandResult>;
  remove(): Promise<void>;
}

const CLAIMCHECK = join(import.meta.dirname, '../cli/claimcheck.mjs');

export interface RunningCommand {
  readonly child: ChildProcess;
  /** All that was printed so far. */
  readonly output: () => string;
  /** Resolves at the end. */
  readonly result: Promise<CommandResult>;
}

export interface CommandResult {
  readonly code: number | null;
  /** All that was printed. */
  readonly text: string;
  readonly out: string;
  readonly error: string;
}

export async function makeCheckout(files: Readonly<Record<string, string>> = APP): Promise<Checkout> {
  const path = await mkdtemp(join(tmpdir(), `${STRANGE_FOLDER}-`));
  copyCheckout(path, COPIED);
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  };
  for (const [file, text] of Object.entries(files)) await write(file, text);
  return {
    path,
    write,
    run: (args, env) => runIn(path, args, env),
    call: (args, env) => callIn(path, args, env),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** A DATABASE_URL or PORT in the shell that runs the tests would change what the commands do. */
const UNSET: Record<string, string | undefined> = { DATABASE_URL: undefined, PORT: undefined };

export function runIn(cwd: string, args: readonly string[], env: Record<string, string> = {}): RunningCommand {
  const packed = join(cwd, 'node_modules/claimcheck/dist/cli/claimcheck.mjs');
  const child = spawn(process.execPath, [existsSync(packed) ? packed : CLAIMCHECK, ...args], {
    cwd,
    env: { ...process.env, ...UNSET, ...env } as NodeJS.ProcessEnv,
    detached: true,
  });
  endLater(child);
  let text = '';
  let out = '';
  let error = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    text += chunk;
    error += chunk;
  });
  const result = once(child, 'close').then(([code]) => {
    searchCommand(cwd, env, args, text);
    return { code: code as number | null, text: text.trim(), out, error };
  });
  return { child, output: () => text, result };
}

/** What claimcheck.mjs does. The checkout's own files are loaded once: a change of them needs `run`. */
export async function callIn(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const [command = '', ...rest] = args;
  const printed: { readonly to: 'out' | 'error'; readonly text: string }[] = [];
  const printTo =
    (to: 'out' | 'error') =>
    (...values: unknown[]) =>
      void printed.push({ to, text: `${format(...values)}\n` });
  // Packages are shared, and so is what they keep: esbuild the folder in which it was first loaded (by wrangler), and Neon's
  // driver what engine/src/db/client.ts has set. Both stay those of this checkout.
  await import('wrangler');
  const { fetchEndpoint, fetchFunction } = neonConfig;
  const home = process.cwd();
  const { argv, exitCode } = process;
  const before = Object.entries({ ...UNSET, ...env }).map(([name]) => [name, process.env[name]] as const);
  const listeners = process.stdout.listeners('error');
  const spies = [
    vi.spyOn(console, 'log').mockImplementation(printTo('out')),
    vi.spyOn(console, 'error').mockImplementation(printTo('error')),
    vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw Object.assign(new Error(), { ended: Number(code ?? 0) });
    }),
  ];
  let code = 0;
  try {
    process.chdir(cwd);
    process.argv = [process.execPath, command, ...rest];
    setVariables(Object.entries({ ...UNSET, ...env }));
    const { default: main } = await import(`../${command.includes('/') ? command : `cli/${command}`}.ts`);
    await main();
    code = Number(process.exitCode ?? 0);
  } catch (thrown) {
    const error = thrown as Error & { ended?: number; exitCode?: number };
    if (error.ended === undefined && error.name !== 'UserError') throw error;
    if (error.ended === undefined) console.error(`${basename(command)}: ${error.message}`);
    code = error.ended ?? error.exitCode ?? 1;
  } finally {
    for (const spy of spies) spy.mockRestore();
    for (const listener of process.stdout.listeners('error')) {
      if (!listeners.includes(listener)) process.stdout.off('error', listener as () => void);
    }
    setVariables(before);
    Object.assign(neonConfig, { fetchEndpoint, fetchFunction });
    process.argv = argv;
    process.exitCode = exitCode;
    process.chdir(home);
  }
  const textOf = (...kinds: string[]) => printed.flatMap(({ to, text }) => (kinds.includes(to) ? text : [])).join('');
  const text = textOf('out', 'error');
  searchCommand(cwd, env, args, text);
  return { code, text: text.trim(), out: textOf('out'), error: textOf('error') };
}

function setVariables(variables: Iterable<readonly [name: string, value: string | undefined]>): void {
  for (const [name, value] of variables) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

/** Command lines of the processes that a checkout has left behind. Empty on a system without /proc. */
export function processesOf(...folders: string[]): string[] {
  return readdirIfThere('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const known = `${readlinkSync(`/proc/${pid}/cwd`)} ${command}`;
        return folders.some((folder) => known.includes(folder)) ? [command] : [];
      } catch {
        // It has ended meanwhile, or is another user's.
        return [];
      }
    });
}

function readdirIfThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
