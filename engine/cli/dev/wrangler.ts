import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLine } from '../../src/shared/log.ts';
import { OFFLINE, type WorkerKind } from '../config/worker-config.ts';
import { programOf } from '../lib/app.ts';
import { LOOPBACK } from '../lib/port.ts';
import { eachLine } from '../lib/processes.ts';
import { copyIn, devFolder } from '../local/worker-copies.ts';

/** `wrangler dev` usually ends within a second. If it hangs, it can be killed, because it has no data. */
const STOPS_WITHIN_MS = 5000;

/** Wrangler prints paths relative to its configuration, which is a copy in .data/dev/<worker>. */
const FROM_COPY_TO_CHECKOUT = '../../../';

export interface Wrangler {
  readonly exited: Promise<unknown>;
  /**
   * workerd's output about a Worker that throws while it is loaded. It names lines of the bundle, so Node may explain
   * it better.
   */
  readonly thrown: () => string;
  /** Resolves when the Workers answer. */
  ready(url: string): Promise<void>;
  stop(): Promise<void>;
}

export type WranglerOutput =
  /** A line of a Worker's log. */
  | { kind: 'log'; worker: WorkerKind; line: LogLine }
  /** Text that a handler or an effect has printed. */
  | { kind: 'text'; text: string }
  /** The Workers are now running new code. */
  | { kind: 'reloaded' };

export interface WranglerOptions {
  readonly port: number;
  /** The Workers by name. */
  readonly names: ReadonlyMap<WorkerKind, string>;
  /** Whether wrangler opens a Quick Tunnel to the port. */
  readonly tunnel: boolean;
  readonly onPrinted: (printed: Exclude<WranglerOutput, { kind: 'reloaded' }>) => void;
  readonly onReload: () => Promise<void>;
}

/** Starts the Workers from the copies of their configurations. The first Worker, the front, gets HTTP and the cron. */
export function startWrangler({ port, names, tunnel, onPrinted, onReload }: WranglerOptions): Wrangler {
  const configs = (['front', ...names.keys()] as const).flatMap((worker) => ['-c', copyIn(devFolder(worker))]);
  const options = ['--ip', LOOPBACK, '--port', String(port), '--inspector-port', '0', ...(tunnel ? ['--tunnel'] : [])];
  // Run the program itself. A wrapper such as npx would end at a signal and leave wrangler running.
  const program = [programOf('wrangler'), 'dev', '--show-interactive-dev-session=false'];
  const child = spawn(process.execPath, [...program, ...configs, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Use a separate process group, so that Ctrl-C in the terminal doesn't end it before we stop it.
    detached: true,
    // Use our own registry, because the shared one could contain queues of another checkout with the same names. Set
    // the log level, because the code below reads wrangler's lines.
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
      // If the first build fails, wrangler doesn't notice corrections.
      else child.kill('SIGINT');
    }
    // Skip repeated blank lines after a message.
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

/** Ends workerd and esbuild if wrangler couldn't stop them itself. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has no processes left.
  }
}

/**
 * Filters output that distracts from the actual error: workerd's lines about the bundle, and esbuild's stack traces
 * when it is ended.
 */
function createErrorFilter() {
  const held: string[] = [];
  let part: 'wanted' | 'thrown' | 'noise' | 'deadlock' = 'wanted';
  return {
    /** Returns the line if it should be printed. */
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

/** How wrangler's own lines begin. They contain nothing new for `npm run dev`: bindings, requests, its state. */
const WRANGLERS_OWN =
  /^(\[wrangler[:\]]|⎔ |Using secrets |Using vars |Your Worker has access |\S+ has access to the following bindings)/;

/** Wrangler's line with the address of its tunnel. */
const TUNNEL = /^\S+ Sharing via Cloudflare Tunnel: (https:\S+)$/;

/** Classifies the lines of wrangler's standard output. Errors and warnings are on standard error. */
export function createSorter(names: ReadonlyMap<WorkerKind, string>): (line: string) => WranglerOutput | undefined {
  const prefixes = Array.from(names, ([worker, name]) => ({ worker, prefix: `[${name}] ` }));
  // A text with several lines has the Worker's name only on the first.
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
