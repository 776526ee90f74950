import { type Contender, startNode, startQueueOnly, startReceiver } from './contenders.ts';
import { startDatabase } from './database.ts';
import { makeKeys } from './deliveries.ts';
import { createTables } from './drain-claimcheck.ts';
import { startLoad } from './load.ts';
import { alternate, DISTANCES, type Length, percentile, type Row, Rows, waitRow } from './rows.ts';

/**
 * So few that nothing waits for a CPU. The answer's time then consists of the round trips to the database and our own
 * work.
 */
const CONNECTIONS = 4;

/** Fewer deliveries if each takes longer. */
const DELIVERIES = { 1: 500, 5: 500, 30: 100, 80: 100 } as const;

/** Measures how long a provider waits for its 200, with a near and a distant database. */
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
    // The bare Worker is measured twice. The difference shows how much results vary by chance.
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
