import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { RECEIVER_CONFIG, readConfig } from '../scripts/local/config.ts';
import { LOOPBACK } from '../scripts/local/port.ts';
import { end, endsWithUs } from './child.ts';
import { cpuOf, residentOf } from './cpu.ts';
import { FOLDER } from './folder.ts';
import { heapOf } from './heap.ts';

/** A Worker as workerd is configured with it. */
export interface BenchWorker {
  /** A file with one module of JavaScript. */
  readonly script: string;
  /** Variables and secrets. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** By binding: the Worker that takes what is sent to this queue. */
  readonly queues?: Readonly<Record<string, string>>;
  /** By binding: the Worker that is called. */
  readonly services?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
}

export interface Workerd {
  readonly url: string;
  readonly pid: number;
  /** CPU time of the process, with all its Workers, in ms. */
  cpu(): number;
  /** Memory of the process in MiB. */
  resident(): number;
  /** What the JavaScript of a Worker occupies now, in MiB. Only of one that was started to be inspected. */
  heap(worker: string): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Runs Workers in workerd itself, as its own `serve` does: without miniflare, whose proxy in front of a Worker costs more
 * than the Worker. The first Worker gets the HTTP requests. Log lines are thrown away. The inspector would keep every line,
 * which costs CPU and memory, so it is started only where memory is measured.
 */
export async function startWorkerd(
  workers: Readonly<Record<string, BenchWorker>>,
  { isInspected = false } = {},
): Promise<Workerd> {
  const file = join(FOLDER, `workerd-${process.hrtime.bigint()}.capnp`);
  writeFileSync(file, configOf(workers));
  const args = ['serve', file, 'config', '--experimental', '--control-fd=3'];
  if (isInspected) args.push(`--inspector-addr=${LOOPBACK}:0`);
  const child = endsWithUs(
    spawn('node_modules/workerd/bin/workerd', args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] }),
  );
  const errors: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
  const ports = new Map<string, number>();
  await new Promise<void>((started, failed) => {
    createInterface(child.stdio[3] as Readable).on('line', (line) => {
      const { event, socket, port } = JSON.parse(line);
      ports.set(event === 'listen-inspector' ? 'inspector' : socket, port);
      if (ports.has('main') && (ports.has('inspector') || !isInspected)) started();
    });
    child.once('exit', (code) => failed(new Error(`workerd ended with ${code}: ${errors.join('')}`)));
  });
  const pid = child.pid ?? 0;
  return {
    url: `http://${LOOPBACK}:${ports.get('main')}`,
    pid,
    cpu: () => cpuOf(pid),
    resident: () => residentOf(pid),
    heap: (worker) => heapOf(ports.get('inspector') ?? 0, worker),
    stop: () => end(child),
  };
}

function configOf(workers: Readonly<Record<string, BenchWorker>>): string {
  const { compatibility_date: date } = readConfig(RECEIVER_CONFIG).raw;
  const services = Object.entries(workers).map(([name, worker]) => serviceOf(name, worker, date ?? ''));
  const [main = ''] = Object.keys(workers);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "internet", network = (allow = ["local"])),
    ${services.join(',\n    ')}
  ],
  sockets = [(name = "main", address = "${LOOPBACK}:0", http = (), service = ${text(main)})]
);
`;
}

function serviceOf(
  name: string,
  { script, vars = {}, queues = {}, services = {}, flags = [] }: BenchWorker,
  date: string,
) {
  const bindings = [
    ...Object.entries(vars).map(([key, value]) => `(name = ${text(key)}, json = ${text(JSON.stringify(value))})`),
    ...Object.entries(queues).map(([key, worker]) => `(name = ${text(key)}, queue = ${text(worker)})`),
    ...Object.entries(services).map(([key, worker]) => `(name = ${text(key)}, service = ${text(worker)})`),
  ];
  return `(name = ${text(name)}, worker = (
      modules = [(name = "worker", esModule = embed ${text(relative(FOLDER, script))})],
      compatibilityDate = ${text(date)}, compatibilityFlags = [${flags.map(text).join(', ')}],
      bindings = [${bindings.join(', ')}]
    ))`;
}

/** Cap'n Proto's text literals know the escapes of C, so JSON's \u is not among them: use ASCII. */
function text(value: string): string {
  return JSON.stringify(value);
}
