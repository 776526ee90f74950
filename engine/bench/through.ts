import { setTimeout as sleep } from 'node:timers/promises';
import { bundle } from './bundle.ts';
import { startDatabase } from './database.ts';
import { makeKeys, secretsFor } from './deliveries.ts';
import { CONSUMER_VARS, createTables } from './drain-claimcheck.ts';
import { startLoad } from './load.ts';
import { alternate, type Length, type Row, Rows } from './rows.ts';
import { startWorkerd } from './workerd.ts';

const CONNECTIONS = 32;
const EVENTS = 8000;

/** So many that nothing waits, and few enough for every machine. */
const CALM_EVENTS = 200;
const CALM_RATE = 50;

/** After the last answer. A slow machine needs some seconds. */
const MOST_MS = 60_000;

const THROUGH = 'from the delivery to the completion';

/** All of it at once on this machine: receiver, queue and consumer in one workerd, with Postgres beside them. */
export async function benchThrough({ rounds, part }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  await using database = await startDatabase();
  await using load = await startLoad();
  await using workerd = await startWorkerd({
    receiver: {
      script: bundle('engine/bench/workers/receiver.ts').script,
      vars: { DATABASE_URL: database.url, ...secretsFor(keys) },
      queues: { EVENTS: 'pipe' },
    },
    pipe: {
      script: bundle('engine/bench/workers/pipe.ts').script,
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
  const { client } = database;
  let runs = 0;
  const send = async (amount: number, rate?: number) => {
    await client.query('truncate webhooks.events, bench.invoices, bench.balances cascade');
    const run = `t${++runs}`;
    const started = performance.now();
    const job = {
      url: workerd.url,
      source: 'standardwebhooks',
      keys,
      run,
      amount,
      connections: CONNECTIONS,
      rate,
    } as const;
    const { signingSeconds } = await load.send(job);
    const left = async () => {
      const { rows: found } = await client.query(
        `select count(*)::int as n from webhooks.events where status <> 'done'`,
      );
      return (found[0] as { n: number }).n;
    };
    for (const end = performance.now() + MOST_MS; (await left()) > 0; await sleep(10)) {
      if (performance.now() > end) throw new Error(`${await left()} of ${amount} events were not completed`);
    }
    return (performance.now() - started) / 1000 - signingSeconds;
  };
  await createTables(database);
  await send(Math.ceil(1000 * part));
  const tasks = [
    async () => {
      const amount = Math.ceil(EVENTS * part);
      rows.add(`${THROUGH}, ${CONNECTIONS} connections`, 'claimcheck', { 'events/s': amount / (await send(amount)) });
    },
    async () => {
      await send(Math.ceil(CALM_EVENTS * part), CALM_RATE);
      const { rows: found } = await client.query(
        `select percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from finished_at - received_at) * 1000) as ms
         from webhooks.events`,
      );
      const [p50 = Number.NaN, p99 = Number.NaN] = (found[0] as { ms: number[] }).ms;
      rows.add(`${THROUGH}, ${CALM_RATE} a second`, 'claimcheck', { 'p50 ms': p50, 'p99 ms': p99 });
    },
  ];
  await alternate(rounds, tasks);
  return rows.all();
}
