import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLine } from '../../src/shared/log.ts';
import { OFFLINE, type WorkerKind } from '../config/worker-config.ts';
import { programOf } from '../lib/app.ts';
import { LOOPBACK } from '../lib/port.ts';
import { eachLine } from '../lib/processes.ts';
import { copyIn, devFolder } from '../local/worker-copies.ts';

/** `wrangler dev` usually ends within a second. If it hangs it can be killed, because it holds no data. */
const STOPS_WITHIN_MS = 5000;

/** wrangler names files relative to its configuration, which is a copy in .data/dev/<worker>. */
const FROM_COPY_TO_CHECKOUT = '../../../';

export interface Wrangler {
  readonly exited: Promise<unknown>;
  /** What workerd said about a Worker that throws while it is loaded: in lines of the bundle, so Node may say it better. */
  readonly thrown: () => string;
  /** Resolves when the Workers answer. */
  ready(url: string): Promise<void>;
  stop(): Promise<void>;
}

export type Printed =
  /** A line of a Worker's log. */
  | { kind: 'log'; worker: WorkerKind; line: LogLine }
  /** What a handler or an effect has printed itself. */
  | { kind: 'text'; text: string }
  /** The Workers run with the new code. */
  | { kind: 'reloaded' };

export interface WranglerOptions {
  readonly port: number;
  /** The Workers, by their names. */
  readonly names: ReadonlyMap<WorkerKind, string>;
  /** Whether wrangler opens a Quick Tunnel to the port. */
  readonly tunnel: boolean;
  readonly onPrinted: (printed: Exclude<Printed, { kind: 'reloaded' }>) => void;
  readonly onReload: () => Promise<void>;
}

/** Starts the Workers from the copies of their configurations. HTTP and the cron are given to the first, the front. */
export function startWrangler({ port, names, tunnel, onPrinted, onReload }: WranglerOptions): Wrangler {
  const configs = (['front', ...names.keys()] as const).flatMap((worker) => ['-c', copyIn(devFolder(worker))]);
  const options = ['--ip', LOOPBACK, '--port', String(port), '--inspector-port', '0', ...(tunnel ? ['--tunnel'] : [])];
  // The program itself: a wrapper such as npx would end alone at a signal, and leave wrangler running.
  const program = [programOf('wrangler'), 'dev', '--show-interactive-dev-session=false'];
  const child = spawn(process.execPath, [...program, ...configs, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a process group of its own, because a Ctrl-C in the terminal must not end it before we stop it.
    detached: true,
    // A registry of our own: in the shared one, wrangler could find the queues of another checkout under the same names.
    // Its lines are read below, so a level of the shell must not hide them.
    env: { ...process.env, ...OFFLINE, WRANGLER_LOG: 'log', WRANGLER_REGISTRY_PATH: '.data/dev/registry' },
  });
  let stopping = false;
  const sort = createSorter(names);
  eachLine(child.stdout, (line) => {
    const printed = stopping ? undefined : sort(line);
    if (printed?.kind === 'reloaded') void onReload().catch(() => {});
    else if (printed) onPrinted(printed);
  });
  let blank = false;
  let started = false;
  const errors = createErrorFilter();
  eachLine(child.stderr, (printed) => {
    const line = errors.pass(printed);
    if (line === undefined) return;
    if (line.includes('Build failed')) {
      if (started) console.error('the previous version stays in use:');
      // After a first build that fails, wrangler notices no correction.
      else child.kill('SIGINT');
    }
    // It leaves several lines blank after each message.
    if (!stopping && !(blank && line === '')) console.error(line.replaceAll(FROM_COPY_TO_CHECKOUT, ''));
    blank = line === '';
  });
  const exited = once(child, 'exit');
  return {
    exited,
    thrown: errors.thrown,
    async ready(url) {
      while (!stopping && !(await answers(url))) await sleep(50);
      if (stopping) await new Promise(() => {});
      started = true;
    },
    async stop() {
      stopping = true;
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGINT')) {
        await Promise.race([exited, sleep(STOPS_WITHIN_MS)]);
      }
      endGroup(child.pid);
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

/** workerd and esbuild, if wrangler was stopped before it could stop them. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // No process is left in the group.
  }
}

/** Holds back what hides the line that matters: workerd's words about the bundle, and where esbuild was when it was ended. */
function createErrorFilter() {
  const held: string[] = [];
  let part: 'wanted' | 'thrown' | 'noise' | 'deadlock' = 'wanted';
  return {
    /** The line, if it is to be printed. */
    pass(line: string): string | undefined {
      if (part === 'deadlock' || /^fatal error: all goroutines are asleep|^goroutine \d+ \[/.test(line))
        part = 'deadlock';
      else if (/service core:user:\S+: Uncaught /.test(line)) part = 'thrown';
      else if (/The Workers runtime failed to start|Logs were written to/.test(line)) part = 'noise';
      else if (/[✘▲]/.test(line)) part = 'wanted';
      if (part === 'thrown') held.push(line);
      return part === 'wanted' ? line : undefined;
    },
    thrown: () => held.join('\n').trim(),
  };
}

/** How wrangler begins its own lines. All it says there is known to `npm run dev`: bindings, requests, its state. */
const WRANGLERS_OWN =
  /^(\[wrangler[:\]]|⎔ |Using secrets |Using vars |Your Worker has access |\S+ has access to the following bindings)/;

/** How wrangler says where its tunnel begins. */
const TUNNEL = /^\S+ Sharing via Cloudflare Tunnel: (https:\S+)$/;

/** Sorts what wrangler prints on its standard output, line by line. Errors and warnings are on its standard error. */
export function createSorter(names: ReadonlyMap<WorkerKind, string>): (line: string) => Printed | undefined {
  const prefixes = Array.from(names, ([worker, name]) => ({ worker, prefix: `[${name}] ` }));
  // A text of several lines has the Worker's name only on the first.
  let inText = false;
  return (line) => {
    const found = prefixes.find(({ prefix }) => line.startsWith(prefix));
    if (found) {
      const raw = line.slice(found.prefix.length);
      const parsed = readLogLine(raw);
      inText = parsed === undefined;
      return parsed ? { kind: 'log', worker: found.worker, line: parsed } : { kind: 'text', text: raw };
    }
    if (inText && !WRANGLERS_OWN.test(line)) return { kind: 'text', text: line };
    inText = false;
    const tunnel = TUNNEL.exec(line)?.[1];
    if (tunnel) return { kind: 'text', text: `tunnel       ${tunnel}webhooks/<source>` };
    return line.startsWith('⎔ Local server updated') ? { kind: 'reloaded' } : undefined;
  };
}

function readLogLine(raw: string): LogLine | undefined {
  if (!raw.startsWith('{"step":')) return undefined;
  try {
    return JSON.parse(raw) as LogLine;
  } catch {
    return undefined;
  }
}
