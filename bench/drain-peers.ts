import { startChild } from './child.ts';
import { cpuOf } from './cpu.ts';
import type { BenchDatabase } from './database.ts';
import { checkChanges, type Drainer, emptyTables, measure, settle } from './drain-claimcheck.ts';
import { bodySql } from './invoices.ts';

/** `localQueue`: it fetches and completes 100 jobs at a time, as its documentation advises for speed. */
export async function startGraphile(
  jobsAtOnce: number,
  localQueue: boolean,
  database: BenchDatabase,
): Promise<Drainer> {
  const child = await startChild('peers/graphile.ts', database.directUrl, String(jobsAtOnce), String(localQueue));
  return {
    name: `graphile-worker${localQueue ? ', local queue' : ''}`,
    async drain({ events, customers }) {
      await emptyTables(database);
      await database.client.query(
        `select graphile_worker.add_job('paid', ${bodySql('$2::int')}) from generate_series(0, $1::int - 1) n`,
        [events, customers],
      );
      await settle(database);
      const measured = await measure(
        events,
        () => cpuOf(child.pid),
        database,
        () => child.ask(events),
      );
      await checkChanges(database, events);
      return measured;
    },
    stop: child.stop,
  };
}

/** As many connections as Neon's proxy keeps for the Workers. */
const WIRE_CONNECTIONS = 20;

export async function startWire(database: BenchDatabase): Promise<Drainer> {
  const child = await startChild('peers/wire.ts', database.directUrl, String(WIRE_CONNECTIONS));
  return {
    name: 'one transaction per event',
    async drain({ events, customers }) {
      await emptyTables(database);
      const measured = await measure(
        events,
        () => cpuOf(child.pid),
        database,
        () => child.ask({ events, customers }),
      );
      await checkChanges(database, events);
      return measured;
    },
    stop: child.stop,
  };
}
