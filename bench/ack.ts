import { type Contender, startReceiver, startTextbook } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { BATCH, makeKeys, type SigningKeys } from './deliveries.ts';
import { type Load, startLoad } from './load.ts';
import { alternate, countOf, type Length, type Measured, percentile, type Row, Rows } from './rows.ts';
import type { BenchSource } from './workers/sources.ts';

/** How many senders wait for an answer at the same time. */
const CONNECTIONS = [1, 32, 128] as const;

/**
 * Sent before every measurement of a second or more. V8 has compiled the code by then, and it says how many deliveries
 * fill the time.
 */
const WARM_UP = 1000;

/**
 * With 200 ms of work, 32 connections allow at most 160 deliveries a second, and a faster server gets more of them. So all
 * get the same number, too, in equal intervals: few enough that the slowest server has connections to spare.
 */
const SAME_RATE = 100;

/** At that rate a second has only a hundred latencies, and a p99 is the slowest of them. */
const SAME_RATE_SECONDS = 4;

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
          const row = `ack, ${TITLES[source]}, ${countOf(connections)}`;
          const { fresh, sendAgain } = await measure(contender, source, connections, context);
          rows.add(`${row}, new events`, contender.name, fresh);
          rows.add(`${row}, duplicates`, contender.name, await sendAgain());
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
    const row = 'ack, GitHub, 32 connections, new events';
    for (const workMs of [0, 200]) contenders.push(await startTextbook(workMs, database, keys));
    const tasks = contenders.map((contender) => async () => {
      const context = { load, keys, database, seconds };
      const { fresh } = await measure(contender, 'github', 32, context);
      rows.add(`${row}, as many as each can answer`, contender.name, fresh);
      const evenly = { ...context, seconds: seconds * SAME_RATE_SECONDS, rate: SAME_RATE };
      const { fresh: same } = await measure(contender, 'github', 32, evenly);
      rows.add(`${row}, ${SAME_RATE} a second`, contender.name, same);
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
  /** Deliveries per second. Without it, as many as are answered. */
  readonly rate?: number;
}

let runs = 0;

/** New events for some seconds, into empty tables. `sendAgain` sends the same deliveries once more. */
export async function measure(
  { url, cpu }: Contender,
  source: BenchSource,
  connections: number,
  { load, keys, database, seconds, rate }: MeasureContext,
): Promise<{ fresh: Measured; sendAgain: () => Promise<Measured> }> {
  await database.client.query('truncate webhook_events cascade');
  const run = `r${++runs}`;
  const job = { url, source, keys, run, connections, rate };
  const warmUp = Math.max(2 * connections, (source === 'sendgrid' ? WARM_UP / 20 : WARM_UP) * Math.min(1, seconds));
  // At a given rate, the same server was measured without one just before.
  const warm = rate === undefined && (await load.send({ ...job, run: `${run}-warm`, amount: warmUp }));
  const perSecond = warm ? warmUp / warm.seconds : (rate ?? 0);
  const amount = Math.max(2 * connections, Math.round(perSecond * seconds));
  const send = async (again: boolean): Promise<Measured> => {
    const before = [cpu(), database.cpu()] as const;
    const { latencies, answers, seconds: took } = await load.send({ ...job, amount, again });
    const [own, postgres] = [cpu() - before[0], database.cpu() - before[1]];
    if (answers['200'] !== amount) throw new Error(`not every delivery was answered 200: ${JSON.stringify(answers)}`);
    const times = { 'p50 ms': percentile(latencies, 50), 'p99 ms': percentile(latencies, 99) };
    // At a given rate, the deliveries per second are given, and too few for a clock of 10 ms.
    if (rate !== undefined) return times;
    return {
      'deliveries/s': amount / took,
      ...times,
      'CPU ms per delivery': own / amount,
      'CPU ms per delivery in Postgres': postgres / amount,
    };
  };
  return { fresh: await send(false), sendAgain: () => send(true) };
}
