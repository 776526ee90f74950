import { type Contender, startNode, startQueueOnly, startReceiver } from './contenders.ts';
import { startDatabase } from './database.ts';
import { makeKeys } from './deliveries.ts';
import { createTables } from './drain-claimcheck.ts';
import { startLoad } from './load.ts';
import { alternate, DISTANCES, type Length, percentile, type Row, Rows, waitRow } from './rows.ts';

/** Few, so that nothing waits for a processor: the answer's time is the ways to the database and back, and our own. */
const CONNECTIONS = 4;

/** Fewer where each takes longer. */
const DELIVERIES = { 1: 500, 5: 500, 30: 100, 80: 100 } as const;

/** How long a provider waits for its 200, when the database is near and when it is far. */
export async function benchWait({ rounds, part }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  const database = await startDatabase();
  const load = await startLoad();
  const contenders: Contender[] = [];
  const add = async (starting: Promise<Contender>, name?: string) => {
    const contender = await starting;
    contenders.push(name === undefined ? contender : { ...contender, name });
  };
  let runs = 0;
  const send = async ({ url }: Contender, amount: number) => {
    const job = { url, source: 'github', keys, run: `d${++runs}`, amount, connections: CONNECTIONS } as const;
    const { latencies, answers } = await load.send(job);
    if (answers['200'] !== amount) throw new Error(`not every delivery was answered 200: ${JSON.stringify(answers)}`);
    return latencies;
  };
  try {
    await createTables(database);
    await add(startReceiver('claimcheck', database, keys));
    await add(startReceiver('floor', database, keys));
    await add(startReceiver('floor', database, keys), 'floor again');
    await add(startNode('hono', database, keys));
    await add(startNode('express', database, keys));
    await add(startQueueOnly(keys));
    for (const contender of contenders) await send(contender, Math.ceil(1000 * part));
    const tasks = DISTANCES.flatMap((ms) =>
      contenders.map((contender) => async () => {
        await database.setLatency(ms);
        const latencies = await send(contender, Math.max(2 * CONNECTIONS, Math.ceil(DELIVERIES[ms] * part)));
        rows.add(waitRow(ms), contender.name, {
          'p50 ms': percentile(latencies, 50),
          'p99 ms': percentile(latencies, 99),
        });
      }),
    );
    await alternate(rounds, tasks);
    return rows.all();
  } finally {
    for (const contender of contenders) await contender.stop();
    await load.stop();
    await database.stop();
  }
}
