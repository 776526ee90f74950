import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { WorkerKind } from '../config/worker-config.ts';
import { OFFLINE } from '../lib/offline.ts';
import { LOOPBACK } from '../lib/port.ts';
import { copyIn, devFolder } from '../local/worker-copies.ts';
import { createSorter, type Printed } from './wrangler-output.ts';

/** `wrangler dev` usually ends within a second. If it hangs it can be killed, because it holds no data. */
const STOPS_WITHIN_MS = 5000;

/** wrangler names files relative to its configuration, which is a copy in .data/dev/<worker>. */
const FROM_COPY_TO_CHECKOUT = '../../../';

export interface Wrangler {
  /** Resolves to its exit code: none if a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Resolves when the Workers answer. */
  ready(url: string): Promise<void>;
  stop(): Promise<void>;
}

export interface WranglerListener {
  readonly onPrinted: (printed: Exclude<Printed, { kind: 'reloaded' }>) => void;
  readonly onReload: () => Promise<void>;
}

/** Starts the Workers from the copies of their configurations. HTTP and the cron are given to the first, the front. */
export function startWrangler(
  port: number,
  names: ReadonlyMap<WorkerKind, string>,
  { onPrinted, onReload }: WranglerListener,
): Wrangler {
  const configs = (['front', ...names.keys()] as const).flatMap((worker) => ['-c', copyIn(devFolder(worker))]);
  const options = ['--ip', LOOPBACK, '--port', String(port), '--inspector-port', '0'];
  // The program itself: a wrapper such as npx would end alone at a signal, and leave wrangler running.
  const program = ['node_modules/wrangler/bin/wrangler.js', 'dev', '--show-interactive-dev-session=false'];
  const child = spawn(process.execPath, [...program, ...configs, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a process group of its own, because a Ctrl-C in the terminal must not end it before we stop it.
    detached: true,
    // A registry of our own: in the shared one, wrangler could find the queues of another checkout under the same names.
    env: { ...process.env, ...OFFLINE, WRANGLER_REGISTRY_PATH: '.data/dev/registry' },
  });
  let stopping = false;
  const sort = createSorter(names);
  createInterface(child.stdout).on('line', (line) => {
    const printed = stopping ? undefined : sort(line);
    if (printed?.kind === 'reloaded') void onReload().catch(() => {});
    else if (printed) onPrinted(printed);
  });
  let blank = false;
  createInterface(child.stderr).on('line', (line) => {
    // It leaves several lines blank after each message.
    if (!stopping && !(blank && line === '')) console.error(line.replaceAll(FROM_COPY_TO_CHECKOUT, ''));
    blank = line === '';
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    exited,
    async ready(url) {
      while (!stopping && !(await answers(url))) await new Promise((resolve) => setTimeout(resolve, 50));
      if (stopping) await new Promise(() => {});
    },
    async stop() {
      stopping = true;
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGINT')) {
        await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, STOPS_WITHIN_MS))]);
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
