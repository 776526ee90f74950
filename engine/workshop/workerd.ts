import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { LOOPBACK } from '../cli/lib/port.ts';

/** A Worker in workerd's configuration. */
export interface WorkerdWorker {
  /** A file with one JavaScript module. */
  readonly script: string;
  readonly compatibilityDate: string | undefined;
  readonly flags?: readonly string[];
  /** Variables and secrets. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** By binding: the service that receives this queue's messages. */
  readonly queues?: Readonly<Record<string, string>>;
  /** By binding: the called service. */
  readonly services?: Readonly<Record<string, string>>;
}

export interface WorkerdOptions {
  /** By socket: the service that gets its HTTP requests. */
  readonly sockets: Readonly<Record<string, string>>;
  /** Services outside workerd: their ports, and a header to add to every request. */
  readonly external?: Readonly<Record<string, { readonly port: number; readonly header: readonly [string, string] }>>;
  /** The addresses that Workers may call. */
  readonly network?: readonly ('local' | 'public' | 'private')[];
  /** Starts the inspector. It stores every log line, which costs CPU and memory. */
  readonly isInspected?: boolean;
  /** Receives the Workers' log lines, which are otherwise discarded. */
  readonly onLine?: (line: string) => void;
}

export interface Workerd {
  readonly pid: number;
  /** The address of a socket. Ports stay the same after a restart. */
  urlOf(socket: string): string;
  /** The current size of a Worker's JavaScript heap in MiB. `collected` collects garbage first. */
  heap(worker: string, options?: { readonly collected: boolean }): Promise<number>;
  kill(): Promise<void>;
  /** Restarts workerd after `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The key of the inspector's port. */
const INSPECTOR = 'the inspector';

/**
 * Runs Workers directly in workerd, because miniflare's proxy costs more than the Worker and also holds bodies in
 * memory.
 */
export async function startWorkerd(
  workers: Readonly<Record<string, WorkerdWorker>>,
  options: WorkerdOptions,
): Promise<Workerd> {
  // The configuration contains only made-up secrets and is removed at the end.
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-workerd-'));
  for (const [name, { script }] of Object.entries(workers)) cpSync(script, join(folder, `${name}.js`));
  const file = join(folder, 'config.capnp');
  const ports = new Map<string, number>();
  let child: ChildProcess | undefined;
  const endWithUs = () => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', endWithUs);

  const restart = async () => {
    writeFileSync(file, configOf(workers, options, ports));
    const inspector = options.isInspected ? [`--inspector-addr=${LOOPBACK}:${ports.get(INSPECTOR) ?? 0}`] : [];
    const binary: string = createRequire(import.meta.url)('workerd').default;
    child = spawn(binary, ['serve', file, 'config', '--experimental', '--control-fd=3', ...inspector], {
      stdio: ['ignore', options.onLine ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    if (options.onLine) eachLine(child.stdout as Readable, options.onLine);
    const errors: string[] = [];
    child.stderr?.on('data', (chunk: Buffer) => {
      errors.push(chunk.toString());
      if (options.onLine) process.stderr.write(chunk);
    });
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    const listening = new Set<string>();
    const expected = Object.keys(options.sockets).length + inspector.length;
    createInterface(child.stdio[3] as Readable).on('line', (line) => {
      const { event, socket, port } = JSON.parse(line);
      const name = event === 'listen-inspector' ? INSPECTOR : socket;
      ports.set(name, port);
      if (listening.add(name).size === expected) resolve();
    });
    child.once('exit', (code) => reject(new Error(`workerd ended with ${code}: ${errors.join('')}`)));
    await ready;
  };
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };

  await restart();
  return {
    get pid() {
      return child?.pid ?? 0;
    },
    urlOf: (socket) => `http://${LOOPBACK}:${ports.get(socket)}`,
    heap: (worker, { collected } = { collected: false }) => heapOf(ports.get(INSPECTOR) ?? 0, worker, collected),
    kill,
    restart,
    async stop() {
      await kill();
      process.off('exit', endWithUs);
      endWithUs();
    },
  };
}

/** `readline` would also split a line at U+2028, which an event's id in a log line may contain. */
function eachLine(output: Readable, onLine: (line: string) => void): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

/** Writes a Cap'n Proto text literal. It supports C's escapes but not JSON's \u, so the value must be ASCII. */
const text = (value: string) => JSON.stringify(value);

function configOf(
  workers: Readonly<Record<string, WorkerdWorker>>,
  { sockets, external = {}, network = ['local'] }: WorkerdOptions,
  ports: ReadonlyMap<string, number>,
): string {
  const services = [
    `(name = "internet", network = (allow = [${network.map(text).join(', ')}]))`,
    ...Object.entries(external).map(
      ([name, { port, header }]) =>
        `(name = ${text(name)}, external = (address = "${LOOPBACK}:${port}", http = (
          injectRequestHeaders = [(name = ${text(header[0])}, value = ${text(header[1])})])))`,
    ),
    ...Object.entries(workers).map(([name, worker]) => serviceOf(name, worker)),
  ];
  const listening = Object.entries(sockets).map(
    ([name, service]) =>
      `(name = ${text(name)}, address = "${LOOPBACK}:${ports.get(name) ?? 0}", http = (), service = ${text(service)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.join(',\n    ')}
  ],
  sockets = [${listening.join(', ')}]
);
`;
}

function serviceOf(name: string, worker: WorkerdWorker): string {
  const { compatibilityDate = '', flags = [], vars = {}, queues = {}, services = {} } = worker;
  const bindings = [
    ...Object.entries(vars).map(([key, value]) => `(name = ${text(key)}, json = ${text(JSON.stringify(value))})`),
    ...Object.entries(queues).map(([key, service]) => `(name = ${text(key)}, queue = ${text(service)})`),
    ...Object.entries(services).map(([key, service]) => `(name = ${text(key)}, service = ${text(service)})`),
  ];
  return `(name = ${text(name)}, worker = (
      modules = [(name = "worker", esModule = embed ${text(`${name}.js`)})],
      compatibilityDate = ${text(compatibilityDate)}, compatibilityFlags = [${flags.map(text).join(', ')}],
      bindings = [${bindings.join(', ')}]
    ))`;
}

/** Asks workerd's inspector with the protocol of Chrome's developer tools. */
async function heapOf(port: number, worker: string, collected: boolean): Promise<number> {
  const targets = (await (await fetch(`http://${LOOPBACK}:${port}/json`)).json()) as Target[];
  const target = targets.find(({ id, title }) => id === worker || title.includes(worker));
  if (!target) throw new Error(`the inspector doesn't know the Worker ${worker}: ${JSON.stringify(targets)}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  // The second collection may free what the first one found.
  const collections = collected ? ['HeapProfiler.collectGarbage', 'HeapProfiler.collectGarbage'] : [];
  const methods = [...collections, 'Runtime.getHeapUsage'];
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  socket.addEventListener('open', () => {
    for (const [id, method] of methods.entries()) socket.send(JSON.stringify({ id, method }));
  });
  socket.addEventListener('error', () => reject(new Error('the inspector hung up')));
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    if (id === methods.length - 1) resolve((result.usedSize + (result.backingStorageSize ?? 0)) / 1024 / 1024);
  });
  return promise.finally(() => socket.close());
}

interface Target {
  readonly id: string;
  readonly title: string;
  readonly webSocketDebuggerUrl: string;
}
