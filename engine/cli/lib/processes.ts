import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';

/** Enough to recognise a program by. */
const MAX_SHOWN = 100;

/** The program of a process and its arguments. `undefined` if there is no such process, or no /proc as on Linux. */
export function commandOf(pid: number): string[] | undefined {
  return readIfAllowed(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.split('\0');
}

/** `process 7 (node claimcheck dev)`: without the folder of the program, which may be long. */
export function describeProcess(pid: number | string): string {
  const [program = '', ...args] = commandOf(Number(pid)) ?? [];
  const command = [basename(program), ...args].join(' ').trim().slice(0, MAX_SHOWN);
  return command === '' ? `process ${pid}` : `process ${pid} (${command})`;
}

/** The parent of a process. `undefined` if there is no such process, or no /proc. */
export function parentOf(pid: number): number | undefined {
  // The name of the program comes before, in brackets, and may have brackets and spaces itself.
  const parent = readIfAllowed(() => /.*\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  return parent === undefined ? undefined : Number(parent);
}

/** Processes end while we look at them, and those of other users are closed to us. */
function readIfAllowed<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Node's own `readline` would also end a line at U+2028, which the id of an event in a log line may contain. */
export function eachLine(output: Readable, onLine: (line: string) => void): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  output.on('end', () => rest !== '' && onLine(rest));
}

/** Keeps the end of what a process prints, to explain why it failed. */
export function collect(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (output = `${output}${chunk}`.slice(-10_000)));
  return () => output;
}

export function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

/** How long a closed terminal may go unnoticed. */
const PARENT_EVERY_MS = 1000;

/**
 * If npm is killed, we get no signal. But a process without its parent gets another one: we do, or on Linux the shell in
 * which npm starts us. (On macOS that shell has replaced itself by us.)
 */
function parentsNow(): string {
  const { ppid, env } = process;
  return `${ppid} ${env.npm_lifecycle_event ? parentOf(ppid) : ''}`;
}

export interface Lifetime {
  /** Takes how to end what has been started. The last is ended first. */
  readonly ends: { defer(end: () => unknown): void };
  readonly stop: (code: number) => Promise<void>;
  readonly isStopping: () => boolean;
}

/** Starts what runs until Ctrl-C, and then ends it again. */
export async function untilStopped(start: (lifetime: Lifetime) => Promise<void>): Promise<void> {
  // Node 22 has no AsyncDisposableStack.
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
    // A server that is still starting can be stopped only when it has started.
    await starting.catch(() => {});
    await endAll();
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  // Node would end at once, and leave wrangler, workerd and Postgres with their ports.
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
    // A Ctrl-C in a terminal also ends initdb, and its failure is then expected.
    if (stopping) return;
    await endAll();
    throw error;
  }
}

/** Where `npm run dev` notes its port while it runs. */
const FILE = '.data/dev.json';

export function noteRunning(port: number): void {
  mkdirSync('.data', { recursive: true });
  writeFileSync(FILE, JSON.stringify({ port, pid: process.pid }));
  process.once('exit', () => rmSync(FILE, { force: true }));
}

/** The `npm run dev` that runs in this checkout, if one does. */
export function runningDev(): { readonly port: number; readonly pid: number } | undefined {
  if (!existsSync(FILE)) return undefined;
  const noted = JSON.parse(readFileSync(FILE, 'utf8')) as { port: number; pid: number };
  return isAlive(noted.pid) ? noted : undefined;
}

/** Where the Workers are on this machine: at PORT, where that `npm run dev` is, or at the usual address. */
export function localAddress(): string {
  return `http://localhost:${process.env.PORT ?? runningDev()?.port ?? 8787}`;
}

/** What to do if nobody answers there. */
export function remedyAt(origin: string): string {
  // Its Workers may have ended: dev then waits for a correction.
  return runningDev() && origin === localAddress() ? 'see what npm run dev prints' : 'start it with npm run dev';
}

/** The command `claimcheck`, as npm links it and as it is. */
const PROGRAM = /\bclaimcheck(\.mjs)?$/;

function isAlive(pid: number): boolean {
  // After a crash another process may have got the number since. Not every system tells which program it is.
  if (commandOf(pid)?.some((part) => PROGRAM.test(part)) === false) return false;
  try {
    // Signal 0 is not sent: it only tells whether the process exists.
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
