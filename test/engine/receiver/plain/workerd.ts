import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, vi } from 'vitest';
import { OFFLINE } from '../../../../scripts/local/offline.ts';
import { freePort, isListening } from '../../../../scripts/local/port.ts';
import { learnVariables, search } from '../../canaries/canaries.ts';
import { WAIT } from '../../running.ts';

/** Where the program is. The package has no types. */
const workerd: string = createRequire(import.meta.url)('workerd').default;

/** One Worker in a workerd without wrangler's proxies in front of it: they would hold bodies in memory too. */
export interface PlainWorkerd {
  readonly port: number;
  /** The memory that the process occupies, in MiB. */
  readonly memory: () => number;
  /** The time that its thread has computed, in nanoseconds. Other processes don't count. Only on Linux. */
  readonly computed: () => number;
  /** What the Worker's JavaScript needs once its garbage is collected, in MiB. */
  readonly heap: () => Promise<number>;
  /** What the Worker has logged. */
  readonly lines: () => Record<string, unknown>[];
}

export interface PlainOptions {
  /** Names of bindings. What is sent to these queues is taken, and thrown away. */
  readonly queues?: readonly string[];
}

/** `vars` may be known only when the tests begin, like the address of a database. */
export function usePlainWorkerd(
  config: string,
  vars: Record<string, string> | (() => Record<string, string>),
  { queues = [] }: PlainOptions = {},
): PlainWorkerd {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-workerd-'));
  let [port, inspectorPort] = [0, 0];
  let output = '';
  let child: ChildProcess;
  beforeAll(async () => {
    const known = typeof vars === 'function' ? vars() : vars;
    learnVariables(known);
    const build = ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run', '-c', config, '--outdir', folder];
    execFileSync(process.execPath, build, { stdio: 'ignore', env: { ...process.env, ...OFFLINE } });
    port = await freePort();
    inspectorPort = await freePort();
    writeFileSync(join(folder, 'workerd.capnp'), configuration(port, known, queues));
    const serve = ['serve', join(folder, 'workerd.capnp'), `--inspector-addr=127.0.0.1:${inspectorPort}`];
    child = spawn(workerd, serve, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    await vi.waitFor(async () => {
      if (!(await isListening(port))) throw new Error('workerd does not listen yet');
    }, WAIT);
  });
  afterAll(() => {
    search(output, 'the output of workerd');
    child?.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    get port() {
      return port;
    },
    memory: () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) / 1024,
    computed: () => Number(readFileSync(`/proc/${child.pid}/schedstat`, 'utf8').split(' ')[0]),
    heap: () => heapOf(inspectorPort),
    lines: () =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line)),
  };
}

/** Asks workerd's inspector, in the protocol of Chrome's developer tools. */
async function heapOf(inspectorPort: number): Promise<number> {
  const targets = await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json();
  const { webSocketDebuggerUrl } = (targets as { title: string; webSocketDebuggerUrl: string }[]).find(({ title }) =>
    title.includes('receiver'),
  ) ?? { webSocketDebuggerUrl: '' };
  const socket = new WebSocket(webSocketDebuggerUrl);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // What the first collection finds may be freed only by the second.
  const methods = ['HeapProfiler.collectGarbage', 'HeapProfiler.collectGarbage', 'Runtime.getHeapUsage'];
  socket.addEventListener('open', () =>
    methods.forEach((method, id) => {
      socket.send(JSON.stringify({ id, method }));
    }),
  );
  socket.addEventListener('error', () => reject(new Error('the inspector of workerd hung up')));
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    if (id === methods.length - 1) resolve((result.usedSize + (result.backingStorageSize ?? 0)) / 1024 / 1024);
  });
  return promise.finally(() => socket.close());
}

/** Takes what a queue's binding sends. Without its answer, the binding would wait. */
const QUEUE =
  'export default { fetch: async (request) => (await request.arrayBuffer(), Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } })) }';

function configuration(port: number, vars: Record<string, string>, queues: readonly string[]): string {
  const bindings = [
    ...Object.entries(vars).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`),
    ...queues.map((name) => `(name = "${name}", queue = "queue")`),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "receiver", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-09-18",
      bindings = [${bindings.join(', ')}],
    )),
    (name = "queue", worker = (
      modules = [(name = "queue.js", esModule = ${JSON.stringify(QUEUE)})],
      compatibilityDate = "2026-09-18",
    )),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "receiver")],
);`;
}
