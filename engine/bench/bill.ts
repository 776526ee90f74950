import { CONFIGS, readConfig } from '../cli/config/worker-config.ts';
import { bundle } from './bundle.ts';
import { entryOf, startReceiver } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { deliveryOf, makeKeys, type SigningKeys } from './deliveries.ts';
import { alternate, type Length, type Measured, type Row, Rows } from './rows.ts';

const NAMES = ['claimcheck', 'floor'] as const;

/** Measures what else an ack costs: the CPU time of a cold start, and the size of each bundle. */
export async function benchBill({ rounds }: Length): Promise<Row[]> {
  const rows = new Rows();
  rows.add('bundle, gzipped', 'receiver', { KiB: bundle('engine/bench/workers/one-source.ts').gzipped / 1024 });
  for (const worker of ['consumer', 'ops'] as const) {
    rows.add('bundle, gzipped', worker, { KiB: bundle(readConfig(CONFIGS[worker]).main, worker).gzipped / 1024 });
  }
  const keys = makeKeys();
  await using database = await startDatabase();
  const tasks = NAMES.map((name) => async () => {
    rows.add('cold start to the first answer', name, await coldStart(name, database, keys));
  });
  await alternate(rounds, tasks);
  return rows.all();
}

/**
 * Measures from the start of the process to the 200. Only differences count, because Cloudflare's process is already
 * running.
 */
async function coldStart(name: (typeof NAMES)[number], database: BenchDatabase, keys: SigningKeys): Promise<Measured> {
  const { headers, body } = deliveryOf('github', keys, `cold-${performance.now()}`, 0);
  // Build first, because a build takes seconds.
  bundle(entryOf(name)).script;
  const started = performance.now();
  await using receiver = await startReceiver(name, database, keys);
  const { status } = await fetch(`${receiver.url}/webhooks/github`, { method: 'POST', headers, body });
  if (status !== 200) throw new Error(`the first delivery was answered ${status}`);
  return { ms: performance.now() - started, 'CPU ms': receiver.cpu() };
}
