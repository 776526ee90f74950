import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { readConfig } from '../cli/config/worker-config.ts';
import { bundle } from '../workshop/bundle.ts';
import { startWorkerd, type Workerd } from '../workshop/workerd.ts';
import { learnVariables, search } from './canaries/canaries.ts';

/** One Worker in a workerd without wrangler's proxies in front of it: they would hold bodies in memory too. */
export interface PlainWorkerd {
  readonly port: number;
  /** The memory that the process occupies, in MiB. */
  readonly memory: () => number;
  /** What the Worker's JavaScript needs once its garbage is collected, in MiB. */
  readonly heap: () => Promise<number>;
  /** What the Worker has logged. */
  readonly lines: () => Record<string, unknown>[];
}

/** Takes what a queue's binding sends. Without its answer, the binding would wait. */
const QUEUE =
  'export default { fetch: async (request) => (await request.arrayBuffer(), Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } })) }';

/** What is sent to queues is taken, and thrown away. `vars` may be known only when the tests begin. */
export function usePlainWorkerd(main: string, vars: () => Record<string, string> = () => ({})): PlainWorkerd {
  const lines: string[] = [];
  let workerd: Workerd;
  beforeAll(async () => {
    const known = vars();
    learnVariables(known);
    const folder = mkdtempSync(join(tmpdir(), 'claimcheck-plain-'));
    // It is built as the fixture's ops Worker, whose pages need more than the others do.
    const { raw } = readConfig('engine/test/fixture/wrangler.ops.toml');
    const compatibilityDate = raw.compatibility_date;
    const receiver = {
      script: bundle(main, raw, join(folder, 'built')),
      compatibilityDate,
      vars: known,
      queues: { EVENTS: 'queue', EFFECTS: 'queue' },
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
    heap: () => workerd.heap('receiver', { collected: true }),
    lines: () => lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)),
  };
}
