import { type Contender, startReceiver } from './contenders.ts';
import { startDatabase } from './database.ts';
import { makeKeys } from './deliveries.ts';
import { startLoad } from './load.ts';
import { alternate, type Length, percentile, type Row, Rows } from './rows.ts';

/** Milliseconds between Worker and database, there and back: the same rack, the same city, a country, an ocean. */
export const DISTANCES = [1, 5, 30, 80] as const;

/** Few, so that nothing waits for a processor: then the answer's time is the way to the database and back, and our own. */
const CONNECTIONS = 4;

/** How long the ack takes when the database is far away: it is one round trip, so once the distance. */
export async function benchDistance({ rounds, seconds }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  const database = await startDatabase();
  const load = await startLoad();
  const contenders: Contender[] = [];
  try {
    contenders.push(await startReceiver('claimcheck', database, keys), await startReceiver('floor', database, keys));
    let runs = 0;
    const tasks = DISTANCES.flatMap((ms) =>
      contenders.map(({ name, url }) => async () => {
        await database.setLatency(ms);
        const amount = Math.max(2 * CONNECTIONS, Math.round((seconds * 1000 * CONNECTIONS) / (ms + 5)));
        const job = { url, source: 'github', keys, run: `d${++runs}`, amount, connections: CONNECTIONS } as const;
        const { latencies } = await load.send(job);
        rows.add('ack, GitHub (replay key), distance to Postgres', `${name}, ${ms} ms`, {
          'p50 ms': percentile(latencies, 50),
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
