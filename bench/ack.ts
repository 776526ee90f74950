import { type Contender, startReceiver, startTextbook } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { BATCH, makeKeys, type SigningKeys } from './deliveries.ts';
import { type Load, startLoad } from './load.ts';
import { alternate, countOf, type Length, type Measured, percentile, type Row, Rows, SAME_RATE } from './rows.ts';
import type { BenchSource } from './workers/sources.ts';

/** How many senders wait for an answer at the same time. */
const CONNECTIONS = [1, 32, 128] as const;

/**
 * Sent to each server before the rounds of a row. V8 has compiled the code by then, and it says how many deliveries fill
 * the time of a round.
 */
const WARM_UP = 1000;

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
    for (const source of Object.keys(TITLES) as BenchSource[]) {
      for (const connections of source === 'github' ? CONNECTIONS : [32]) {
        const row = `ack, ${TITLES[source]}, ${countOf(connections)}`;
        const context = { load, keys, database, source, connections };
        const tasks: (() => Promise<void>)[] = [];
        for (const contender of contenders) {
          const amount = await warmUp(contender, seconds, context);
          tasks.push(async () => {
            const { fresh, sendAgain } = await measure(contender, amount, context);
            rows.add(`${row}, new events`, contender.name, fresh);
            rows.add(`${row}, duplicates`, contender.name, await sendAgain());
          });
        }
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
    const context = { load, keys, database, source: 'github', connections: 32 } as const;
    const tasks: (() => Promise<void>)[] = [];
    for (const contender of contenders) {
      const amount = await warmUp(contender, seconds, context);
      tasks.push(async () => {
        const { fresh } = await measure(contender, amount, context);
        rows.add(`${row}, as many as each can answer`, contender.name, fresh);
        const evenly = { ...context, rate: SAME_RATE };
        const { fresh: same } = await measure(contender, seconds * SAME_RATE_SECONDS * SAME_RATE, evenly);
        rows.add(`${row}, ${SAME_RATE} a second`, contender.name, same);
      });
    }
    await alternate(rounds, tasks);
    return rows.all();
  } finally {
    for (const contender of contenders) await contender.stop();
    await load.stop();
    await database.stop();
  }
}

interface MeasureContext {
  readonly load: Load;
  readonly keys: SigningKeys;
  readonly database: BenchDatabase;
  readonly source: BenchSource;
  readonly connections: number;
  /** Deliveries per second. Without it, as many as are answered. */
  readonly rate?: number;
}

let runs = 0;

/** How many deliveries fill the time. */
async function warmUp(
  { url }: Contender,
  seconds: number,
  { load, keys, source, connections }: MeasureContext,
): Promise<number> {
  const most = source === 'sendgrid' ? WARM_UP / 10 : WARM_UP;
  const amount = Math.max(2 * connections, Math.round(most * Math.min(1, seconds)));
  const report = await load.send({ url, source, keys, run: `w${++runs}`, amount, connections });
  return Math.max(2 * connections, Math.round((amount / report.seconds) * seconds));
}

/** New events, into empty tables. `sendAgain` sends the same deliveries once more. */
async function measure(
  { url, cpu }: Contender,
  amount: number,
  { load, keys, database, source, connections, rate }: MeasureContext,
): Promise<{ fresh: Measured; sendAgain: () => Promise<Measured> }> {
  await database.client.query('truncate webhooks.events cascade');
  const job = { url, source, keys, run: `r${++runs}`, connections, rate, amount: Math.max(2 * connections, amount) };
  const send = async (again: boolean): Promise<Measured> => {
    const before = [cpu(), database.cpu()] as const;
    const { latencies, answers, seconds: took } = await load.send({ ...job, again });
    const own = cpu() - before[0];
    const postgres = database.cpu() - before[1];
    if (answers['200'] !== job.amount) {
      throw new Error(`not every delivery was answered 200: ${JSON.stringify(answers)}`);
    }
    const times = { 'p50 ms': percentile(latencies, 50), 'p99 ms': percentile(latencies, 99) };
    // At a given rate, the deliveries per second are given, and too few for a clock of 10 ms.
    if (rate !== undefined) return times;
    return {
      'deliveries/s': job.amount / took,
      ...times,
      'CPU ms per delivery': own / job.amount,
      'CPU ms per delivery in Postgres': postgres / job.amount,
    };
  };
  return { fresh: await send(false), sendAgain: () => send(true) };
}
