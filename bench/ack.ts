import { type Contender, startReceiver, startTextbook } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { BATCH, makeKeys, type SigningKeys } from './deliveries.ts';
import { type Load, startLoad } from './load.ts';
import { alternate, type Length, type Measured, percentile, type Row, Rows } from './rows.ts';
import type { BenchSource } from './workers/sources.ts';

/** How many senders wait for an answer at the same time. */
const CONNECTIONS = [1, 32, 128] as const;

/** Sent before every measurement. V8 has compiled the code by then, and it says how many deliveries fill the time. */
const WARM_UP = 1000;

const TITLES: Readonly<Record<BenchSource, string>> = {
  github: 'GitHub (replay key)',
  standardwebhooks: 'Standard Webhooks (signed time)',
  sendgrid: `SendGrid (batch of ${BATCH})`,
};

/** The ack: from the first byte of a delivery to its 200, for new events and for duplicates of them. */
export async function benchAck({ rounds, seconds }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  const database = await startDatabase();
  const load = await startLoad();
  const contenders: Contender[] = [];
  try {
    contenders.push(await startReceiver('claimcheck', database, keys), await startReceiver('floor', database, keys));
    const context = { load, keys, database, seconds };
    for (const source of Object.keys(TITLES) as BenchSource[]) {
      for (const connections of source === 'github' ? CONNECTIONS : [32]) {
        const tasks = contenders.map((contender) => async () => {
          const row = `ack, ${TITLES[source]}, ${connections} connections`;
          const { fresh, duplicates } = await measure(contender, source, connections, context);
          rows.add(`${row}, new events`, contender.name, fresh);
          rows.add(`${row}, duplicates`, contender.name, duplicates);
        });
        await alternate(rounds, tasks);
      }
    }
    return rows.all();
  } finally {
    for (const contender of contenders) await contender.stop();
    await load.stop();
    await database.stop();
  }
}

/** The same deliveries to a server that does the work before it answers. */
export async function benchTextbook({ rounds, seconds }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  const database = await startDatabase();
  const load = await startLoad();
  const contenders: Contender[] = [];
  try {
    contenders.push(await startReceiver('claimcheck', database, keys));
    for (const workMs of [0, 200]) contenders.push(await startTextbook(workMs, database, keys));
    const tasks = contenders.map((contender) => async () => {
      const { fresh } = await measure(contender, 'github', 32, { load, keys, database, seconds });
      rows.add('ack, GitHub, 32 connections, new events, against the textbook', contender.name, fresh);
    });
    await alternate(rounds, tasks);
    return rows.all();
  } finally {
    for (const contender of contenders) await contender.stop();
    await load.stop();
    await database.stop();
  }
}

export interface MeasureContext {
  readonly load: Load;
  readonly keys: SigningKeys;
  readonly database: BenchDatabase;
  readonly seconds: number;
}

let runs = 0;

/** New events for some seconds, and then the same deliveries again. Each begins with empty tables. */
export async function measure(
  { url, cpu }: Contender,
  source: BenchSource,
  connections: number,
  { load, keys, database, seconds }: MeasureContext,
): Promise<{ fresh: Measured; duplicates: Measured }> {
  await database.client.query('truncate webhook_events cascade');
  const run = `r${++runs}`;
  const job = { url, source, keys, run, connections };
  const warmUp = Math.max(2 * connections, source === 'sendgrid' ? WARM_UP / 20 : WARM_UP);
  const warm = await load.send({ ...job, run: `${run}-warm`, amount: warmUp });
  const amount = Math.max(2 * connections, Math.round((warmUp / warm.seconds) * seconds));
  const send = async (again: boolean): Promise<Measured> => {
    const before = [cpu(), database.cpu()] as const;
    const { latencies, answers, seconds: took } = await load.send({ ...job, amount, again });
    const [own, postgres] = [cpu() - before[0], database.cpu() - before[1]];
    if (answers['200'] !== amount) throw new Error(`not every delivery was answered 200: ${JSON.stringify(answers)}`);
    return {
      'deliveries/s': amount / took,
      'p50 ms': percentile(latencies, 50),
      'p99 ms': percentile(latencies, 99),
      'CPU ms per delivery': own / amount,
      'CPU ms per delivery in Postgres': postgres / amount,
    };
  };
  return { fresh: await send(false), duplicates: await send(true) };
}
