import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';

/** Enough characters to recognize a program. */
const MAX_SHOWN = 100;

/** A process's program and arguments. `undefined` without such a process, or without Linux's /proc. */
export function commandOf(pid: number): string[] | undefined {
  return readIfAllowed(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.split('\0');
}

/** `process 7 (node claimcheck dev)`. Omits the program's folder, which may be long. */
export function describeProcess(pid: number | string): string {
  const [program = '', ...args] = commandOf(Number(pid)) ?? [];
  const command = [basename(program), ...args].join(' ').trim().slice(0, MAX_SHOWN);
  return command === '' ? `process ${pid}` : `process ${pid} (${command})`;
}

/** The parent of a process. `undefined` without such a process, or without /proc. */
export function parentOf(pid: number): number | undefined {
  // Skip the program's name, which is in brackets and may itself contain brackets and spaces.
  const parent = readIfAllowed(() => /.*\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  return parent === undefined ? undefined : Number(parent);
}

/** Reading fails if a process has just ended or belongs to another user. */
function readIfAllowed<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Node's `readline` would also split a line at U+2028, which an event's id in a log line may contain. */
export function eachLine(output: Readable, onLine: (line: string) => void): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  output.on('end', () => rest !== '' && onLine(rest));
}

/** Keeps the end of a process's output, to explain a failure. */
export function collect(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (output = `${output}${chunk}`.slice(-10_000)));
  return () => output;
}

export function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

/** How often to check whether the terminal was closed. */
const PARENT_EVERY_MS = 1000;

/**
 * If npm is killed, we get no signal. But then a process gets a new parent: on Linux the shell in which npm starts us,
 * on macOS we ourselves, because that shell has replaced itself with us.
 */
function parentsNow(): string {
  const { ppid, env } = process;
  return `${ppid} ${env.npm_lifecycle_event ? parentOf(ppid) : ''}`;
}

export interface Lifetime {
  /** Registers how to end what has been started. The last registered function runs first. */
  readonly ends: { defer(end: () => unknown): void };
  readonly stop: (code: number) => Promise<void>;
  readonly isStopping: () => boolean;
}

/** Runs something until Ctrl-C, and then ends it. */
export async function untilStopped(start: (lifetime: Lifetime) => Promise<void>): Promise<void> {
  // Node 22 doesn't have AsyncDisposableStack.
  const ends: (() => unknown)[] = [];
  const endAll = async () => {
    for (const end of ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        console.error(error);
      }
    }
  };
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    // A server can be stopped only after it has started.
    await starting.catch(() => {});
    await endAll();
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  // Otherwise Node would exit and leave wrangler, workerd and Postgres running.
  process.on('uncaughtException', (error) => {
    console.error(error);
    void stop(1);
  });
  const parents = parentsNow();
  setInterval(() => parentsNow() !== parents && void stop(0), PARENT_EVERY_MS).unref();
  const starting = start({ ends: { defer: (end) => ends.push(end) }, stop, isStopping: () => stopping });
  try {
    await starting;
  } catch (error) {
    // Ctrl-C in a terminal also ends initdb, so its failure is expected.
    if (stopping) return;
    await endAll();
    throw error;
  }
}

/** `npm run dev` stores its port in this file while it runs. */
const FILE = '.data/dev.json';

export function noteRunning(port: number): void {
  mkdirSync('.data', { recursive: true });
  writeFileSync(FILE, JSON.stringify({ port, pid: process.pid }));
  process.once('exit', () => rmSync(FILE, { force: true }));
}

/** The running `npm run dev` of this checkout, if any. */
export function runningDev(): { readonly port: number; readonly pid: number } | undefined {
  if (!existsSync(FILE)) return undefined;
  const noted = JSON.parse(readFileSync(FILE, 'utf8')) as { port: number; pid: number };
  return isAlive(noted.pid) ? noted : undefined;
}

/** The address of the Workers on this machine: PORT, the port of a running `npm run dev`, or the default. */
export function localAddress(): string {
  return `http://localhost:${process.env.PORT ?? runningDev()?.port ?? 8787}`;
}

/** What to do if nothing answers there. */
export function remedyAt(origin: string): string {
  // The Workers may have failed, while dev waits for a correction.
  return runningDev() && origin === localAddress() ? 'see what npm run dev prints' : 'start it with npm run dev';
}

/** The command `claimcheck`, as npm's link or as a file. */
const PROGRAM = /\bclaimcheck(\.mjs)?$/;

function isAlive(pid: number): boolean {
  // After a crash, another process may have the same id. Not every system tells which program it is.
  if (commandOf(pid)?.some((part) => PROGRAM.test(part)) === false) return false;
  try {
    // Signal 0 only checks whether the process exists.
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
