import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { readConfig } from '../../../../scripts/config/worker-config.ts';
import { bundle } from '../../../../workshop/bundle.ts';
import { startWorkerd, type Workerd } from '../../../../workshop/workerd.ts';
import { learnVariables, search } from '../../canaries/canaries.ts';

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

/** Takes what a queue's binding sends. Without its answer, the binding would wait. */
const QUEUE =
  'export default { fetch: async (request) => (await request.arrayBuffer(), Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } })) }';

/** `vars` may be known only when the tests begin, like the address of a database. */
export function usePlainWorkerd(
  configPath: string,
  vars: Record<string, string> | (() => Record<string, string>),
  { queues = [] }: PlainOptions = {},
): PlainWorkerd {
  const lines: string[] = [];
  let workerd: Workerd;
  beforeAll(async () => {
    const known = typeof vars === 'function' ? vars() : vars;
    learnVariables(known);
    const folder = mkdtempSync(join(tmpdir(), 'claimcheck-plain-'));
    const { main, raw } = readConfig(configPath);
    const compatibilityDate = raw.compatibility_date;
    const receiver = {
      script: bundle(join(dirname(configPath), main), raw, join(folder, 'built')),
      compatibilityDate,
      vars: known,
      queues: Object.fromEntries(queues.map((name) => [name, 'queue'])),
    };
    const queue = { script: join(folder, 'queue.js'), compatibilityDate };
    writeFileSync(queue.script, QUEUE);
    workerd = await startWorkerd(
      { receiver, queue },
      { sockets: { http: 'receiver' }, isInspected: true, onLine: (line) => lines.push(line) },
    );
    rmSync(folder, { recursive: true });
  });
  afterAll(async () => {
    search(lines.join('\n'), 'the output of workerd');
    await workerd?.stop();
  });
  return {
    get port() {
      return Number(new URL(workerd.urlOf('http')).port);
    },
    memory: () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(workerd.pid)], { encoding: 'utf8' })) / 1024,
    computed: () => Number(readFileSync(`/proc/${workerd.pid}/schedstat`, 'utf8').split(' ')[0]),
    heap: () => workerd.heap('receiver', { collected: true }),
    lines: () => lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)),
  };
}
