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
  await using database = await startDatabase();
  await using load = await startLoad();
  await using started = new AsyncDisposableStack();
  let runs = 0;
  const send = async ({ url }: Contender, amount: number) => {
    const job = { url, source: 'github', keys, run: `d${++runs}`, amount, connections: CONNECTIONS } as const;
    return (await load.send(job)).latencies;
  };
  await createTables(database);
  const contenders = [
    started.use(await startReceiver('claimcheck', database, keys)),
    started.use(await startReceiver('floor', database, keys)),
    // Twice: how much they differ is how much this machine says by chance.
    started.use({ ...(await startReceiver('floor', database, keys)), name: 'floor again' }),
    started.use(await startNode('hono', database, keys)),
    started.use(await startNode('express', database, keys)),
    started.use(await startQueueOnly(keys)),
  ];
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
}
