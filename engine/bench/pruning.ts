import { openDatabase } from '../src/db/client.ts';
import { prune } from '../src/db/sweep.ts';
import { startReceiver } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { makeKeys } from './deliveries.ts';
import { BODY_DAYS, DEDUPE_DAYS, fillLedger } from './ledger.ts';
import { startLoad } from './load.ts';
import { alternate, type Length, percentile, type Row, Rows } from './rows.ts';

/** Deliveries that are sent before it is looked whether pruning has ended. */
const PORTION = 1000;

const CONNECTIONS = 32;

/**
 * What pruning does to the ack: new events of GitHub over 32 connections, while as many events and bodies as given are
 * deleted, chunk after chunk. The cron pauses after 300 chunks, for 15 minutes.
 */
export async function benchPruning({ rounds }: Length, old: number): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  await using database = await startDatabase();
  await using load = await startLoad();
  await using receiver = await startReceiver('claimcheck', database, keys);
  let run = 0;
  /** Sends deliveries for at least as long as asked. */
  const send = async (goesOn: () => boolean): Promise<number[]> => {
    const latencies: number[] = [];
    do {
      const job = { url: receiver.url, source: 'github', keys, amount: PORTION, connections: CONNECTIONS } as const;
      latencies.push(...(await load.send({ ...job, run: `p${++run}` })).latencies);
    } while (goesOn());
    return latencies;
  };
  const acks = (latencies: number[]) => ({ 'p50 ms': percentile(latencies, 50), 'p99 ms': percentile(latencies, 99) });
  const row = `ack, GitHub, ${CONNECTIONS} connections, new events, while ${old.toLocaleString('en')} events are pruned`;
  /** How long the last pruning took: the other measurement takes as long. */
  let seconds = 0;
  const withPruning = async () => {
    await fillLedger(database, { done: old, oldBodies: true, old });
    const begin = performance.now();
    let ended = false;
    const pruned = pruneAll(database, old).finally(() => {
      ended = true;
    });
    const latencies = await send(() => !ended);
    await pruned;
    seconds = (performance.now() - begin) / 1000;
    return { ...acks(latencies), 'pruned events/s': old / seconds };
  };
  const without = async () => {
    await fillLedger(database, { done: old, oldBodies: true, old });
    const until = performance.now() + seconds * 1000;
    return acks(await send(() => performance.now() < until));
  };
  // V8 compiles the receiver.
  await send(() => false);
  const tasks = [
    async () => rows.add(row, 'with pruning', await withPruning()),
    async () => rows.add(row, 'without', await without()),
  ];
  await alternate(rounds, tasks);
  return rows.all();
}

async function pruneAll(database: BenchDatabase, old: number): Promise<void> {
  const db = openDatabase(database.url);
  let events = 0;
  for (;;) {
    const pruned = await prune(db, new Date(), DEDUPE_DAYS, BODY_DAYS);
    events += pruned.events;
    if (pruned.events === 0 && pruned.bodies === 0) break;
  }
  if (events !== old) throw new Error(`${events} events were pruned instead of ${old}`);
}
