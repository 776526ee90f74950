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

/** After the last answer. A slow machine needs some seconds. */
const MOST_MS = 60_000;

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
  const send = async (amount: number) => {
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
  const amount = Math.ceil(EVENTS * part);
  const measure = async () => {
    rows.add(`from the delivery to the completion, ${CONNECTIONS} connections`, 'claimcheck', {
      'events/s': amount / (await send(amount)),
    });
  };
  await alternate(rounds, [measure]);
  return rows.all();
}
