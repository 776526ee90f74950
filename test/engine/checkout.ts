import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { copyCheckout, STRANGE_FOLDER } from '../../workshop/checkout.ts';
import { searchCommand } from './canaries/commands.ts';
import { APP } from './orders-app.ts';

const COPIED = ['src', 'scripts', 'workshop', 'drizzle', 'package.json', 'tsconfig.json', 'drizzle.config.ts'];

/** A checkout of its own with an app of its own: what commands do must not depend on what is in src/app. */
export interface Checkout {
  readonly path: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a command as `npm run` does. */
  run(args: readonly string[], env?: Record<string, string>): RunningCommand;
  remove(): Promise<void>;
}

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
  await rm(join(path, 'src/app'), { recursive: true });
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  };
  for (const [file, text] of Object.entries(files)) await write(file, text);
  return {
    path,
    write,
    run: (args, env) => runIn(path, args, env),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

export function runIn(cwd: string, args: readonly string[], env: Record<string, string> = {}): RunningCommand {
  // A DATABASE_URL or PORT in the shell that runs the tests would change what the commands do.
  const variables: Record<string, string | undefined> = { ...process.env, DATABASE_URL: undefined, PORT: undefined };
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
    cwd,
    env: { ...variables, ...env } as NodeJS.ProcessEnv,
  });
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
