import { setTimeout as sleep } from 'node:timers/promises';
import { CONFIGS, readConfig } from '../cli/config/worker-config.ts';
import { bundle } from './bundle.ts';
import { entryOf, startReceiver } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { deliveryOf, makeKeys, type SigningKeys } from './deliveries.ts';
import { type Load, startLoad } from './load.ts';
import { alternate, type Length, type Measured, type Row, Rows } from './rows.ts';

const NAMES = ['claimcheck', 'floor'] as const;

/** How often a Worker's memory is looked at while it works. */
const LOOK_EVERY_MS = 50;

/** Deliveries while the memory is looked at. */
const DELIVERIES = 3000;

/** What an ack costs besides CPU time: memory under load, the time of a cold start, and the size of each bundle. */
export async function benchBill({ rounds }: Length): Promise<Row[]> {
  const rows = new Rows();
  rows.add('bundle, gzipped', 'receiver', { KiB: bundle('engine/bench/workers/one-source.ts').gzipped / 1024 });
  for (const worker of ['consumer', 'ops'] as const) {
    rows.add('bundle, gzipped', worker, { KiB: bundle(readConfig(CONFIGS[worker]).main, worker).gzipped / 1024 });
  }
  const keys = makeKeys();
  await using database = await startDatabase();
  await using load = await startLoad();
  const tasks = NAMES.map((name) => async () => {
    rows.add('cold start to the first answer', name, await coldStart(name, database, keys));
    rows.add('memory under load, 32 connections', name, await memory(name, database, keys, load));
  });
  await alternate(rounds, tasks);
  return rows.all();
}

/** From the start of the process to the 200. Cloudflare has started the process before, so only the difference counts. */
async function coldStart(name: (typeof NAMES)[number], database: BenchDatabase, keys: SigningKeys): Promise<Measured> {
  const { headers, body } = deliveryOf('github', keys, `cold-${performance.now()}`, 0);
  // Built before: a build takes seconds.
  bundle(entryOf(name)).script;
  const started = performance.now();
  await using receiver = await startReceiver(name, database, keys);
  const { status } = await fetch(`${receiver.url}/webhooks/github`, { method: 'POST', headers, body });
  if (status !== 200) throw new Error(`the first delivery was answered ${status}`);
  return { ms: performance.now() - started, 'CPU ms': receiver.cpu() };
}

/** The inspector that tells it also keeps every log line, of which the bare Worker writes none. */
async function memory(name: (typeof NAMES)[number], database: BenchDatabase, keys: SigningKeys, load: Load) {
  await using receiver = await startReceiver(name, database, keys, { isInspected: true });
  const found = { heap: 0, resident: 0 };
  let working = true;
  const job = { source: 'github', keys, run: `m-${performance.now()}`, connections: 32, amount: DELIVERIES } as const;
  const sent = load.send({ ...job, url: receiver.url }).finally(() => {
    working = false;
  });
  while (working) {
    found.heap = Math.max(found.heap, await receiver.heap('receiver'));
    found.resident = Math.max(found.resident, receiver.resident());
    await sleep(LOOK_EVERY_MS);
  }
  await sent;
  return { 'MiB of JavaScript, at most': found.heap, 'MiB of the process, at most': found.resident };
}
