import { setTimeout as sleep } from 'node:timers/promises';
import { bundle } from './bundle.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { makeKeys, type SigningKeys, secretsFor } from './deliveries.ts';
import { CONSUMER_VARS, createTables } from './drain-claimcheck.ts';
import { startLoad } from './load.ts';
import { alternate, CONNECTIONS, type Length, RATES, type Row, Rows, throughRow, WAITS, waitName } from './rows.ts';
import { startWorkerd, type Workerd } from './workerd.ts';

const EVENTS = 8000;

const CALM_EVENTS = { 10: 100, 100: 1000 } as const;

/** How long to wait after the last answer. A slow machine needs some seconds. */
const MOST_MS = 60_000;

/** Measures everything together: receiver, queue and consumer in one workerd, and Postgres on the same machine. */
export async function benchThrough({ rounds, part }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  await using database = await startDatabase();
  await using load = await startLoad();
  await using started = new AsyncDisposableStack();
  const { client } = database;
  await createTables(database);
  let sent = 0;
  const tasks: (() => Promise<void>)[] = [];
  for (const wait of WAITS) {
    const { url } = started.use(await startAll(database, keys, wait));
    const send = async (amount: number, rate?: number) => {
      await client.query('truncate webhooks.events, bench.invoices, bench.balances cascade');
      const begun = performance.now();
      const run = `t${++sent}`;
      const job = { url, source: 'standardwebhooks', keys, run, amount, connections: CONNECTIONS } as const;
      const { signingSeconds } = await load.send({ ...job, ...(rate && { rate }) });
      for (const end = performance.now() + MOST_MS; ; await sleep(10)) {
        const { rows: left } = await client.query(`select 1 from webhooks.events where status <> 'done' limit 1`);
        if (left.length === 0) break;
        if (performance.now() > end) throw new Error(`not all of ${amount} events were completed`);
      }
      return (performance.now() - begun) / 1000 - signingSeconds;
    };
    await send(Math.ceil(1000 * part));
    tasks.push(async () => {
      const amount = Math.ceil(EVENTS * part);
      rows.add(throughRow(), waitName(wait), { 'events/s': amount / (await send(amount)) });
    });
    for (const rate of RATES) {
      tasks.push(async () => {
        const amount = Math.max(10, Math.ceil(CALM_EVENTS[rate] * part));
        await send(amount, rate);
        const { rows: found } = await client.query(
          `select percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from finished_at - received_at) * 1000) as ms,
                  count(distinct finished_at)::int as runs
           from webhooks.events`,
        );
        const { ms, runs } = found[0] as { ms: number[]; runs: number };
        const [p50 = Number.NaN, p99 = Number.NaN] = ms;
        rows.add(throughRow(rate), waitName(wait), {
          'p50 ms': p50,
          'p99 ms': p99,
          // Each run loads its events in one query and commits them in one transaction.
          'consumer runs per event': runs / amount,
        });
      });
    }
  }
  await alternate(rounds, tasks);
  return rows.all();
}

function startAll(database: BenchDatabase, keys: SigningKeys, wait: number): Promise<Workerd> {
  return startWorkerd({
    receiver: {
      script: bundle('engine/bench/workers/receiver.ts').script,
      vars: { DATABASE_URL: database.url, ...secretsFor(keys) },
      queues: { EVENTS: 'pipe' },
    },
    pipe: {
      script: bundle('engine/bench/workers/pipe.ts').script,
      vars: { WAIT_MS: String(wait) },
      services: { CONSUMER: 'consumer' },
      flags: ['service_binding_extra_handlers'],
    },
    consumer: {
      script: bundle('engine/bench/workers/consumer.ts', 'consumer').script,
      vars: { DATABASE_URL: database.url, ...CONSUMER_VARS },
      queues: { EVENTS: 'sink', EFFECTS: 'sink' },
    },
    sink: { script: bundle('engine/bench/workers/sink.ts').script },
  });
}
