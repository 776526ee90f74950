import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { LOOPBACK } from '../cli/lib/port.ts';

/** A Worker as workerd is configured with it. */
export interface WorkerdWorker {
  /** A file with one module of JavaScript. */
  readonly script: string;
  readonly compatibilityDate: string | undefined;
  readonly flags?: readonly string[];
  /** Variables and secrets. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** By binding: the service that takes what is sent to this queue. */
  readonly queues?: Readonly<Record<string, string>>;
  /** By binding: the service that is called. */
  readonly services?: Readonly<Record<string, string>>;
}

export interface WorkerdOptions {
  /** By name of the socket: the service that gets its HTTP requests. */
  readonly sockets: Readonly<Record<string, string>>;
  /** Services that are not in workerd: where they listen, and a header that they get with every request. */
  readonly external?: Readonly<Record<string, { readonly port: number; readonly header: readonly [string, string] }>>;
  /** Which addresses Workers may call. */
  readonly network?: readonly ('local' | 'public' | 'private')[];
  /** Starts the inspector, which keeps every line of the log: that costs CPU and memory. */
  readonly isInspected?: boolean;
  /** Gets what the Workers log. Without it, that is thrown away. */
  readonly onLine?: (line: string) => void;
}

export interface Workerd {
  readonly pid: number;
  /** Where a socket listens. The ports stay the same when it is started again. */
  urlOf(socket: string): string;
  /** What the JavaScript of a Worker occupies now, in MiB. `collected` removes its garbage first. */
  heap(worker: string, options?: { readonly collected: boolean }): Promise<number>;
  kill(): Promise<void>;
  /** Starts it again after `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The name under which the port of the inspector is kept. */
const INSPECTOR = 'the inspector';

/**
 * Runs Workers in workerd itself: without miniflare, whose proxy in front of a Worker costs more than the Worker, and holds
 * bodies in memory too.
 */
export async function startWorkerd(
  workers: Readonly<Record<string, WorkerdWorker>>,
  options: WorkerdOptions,
): Promise<Workerd> {
  // The configuration holds made-up secrets only, and is removed at the end.
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

/** `readline` would also end a line at U+2028, which the id of an event in a log line may contain. */
function eachLine(output: Readable, onLine: (line: string) => void): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

/** Cap'n Proto's text literals know the escapes of C, so JSON's \u is not among them: use ASCII. */
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

/** Asks workerd's inspector, in the protocol of Chrome's developer tools. */
async function heapOf(port: number, worker: string, collected: boolean): Promise<number> {
  const targets = (await (await fetch(`http://${LOOPBACK}:${port}/json`)).json()) as Target[];
  const target = targets.find(({ id, title }) => id === worker || title.includes(worker));
  if (!target) throw new Error(`the inspector knows no Worker ${worker}: ${JSON.stringify(targets)}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  // What the first collection finds may be freed only by the second.
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
