import { startChild } from './child.ts';
import { cpuOf } from './cpu.ts';
import type { BenchDatabase } from './database.ts';
import { checkChanges, type Drainer, emptyTables, measure, settle } from './drain-claimcheck.ts';
import { bodySql } from './invoices.ts';

/**
 * `local queue` fetches and completes 100 jobs at a time, like our batches. `tuned` uses the settings of its own
 * performance test: 500 at a time, and 24 concurrent jobs.
 */
export type GraphileSettings = 'default' | 'local queue' | 'tuned';

export async function startGraphile(
  settings: GraphileSettings,
  jobsAtOnce: number,
  database: BenchDatabase,
): Promise<Drainer> {
  const child = await startChild('peers/graphile.ts', database.directUrl, settings, String(jobsAtOnce));
  return {
    name: `graphile-worker${settings === 'default' ? '' : `, ${settings}`}`,
    async drain({ events, customers }) {
      await emptyTables(database);
      await database.client.query(
        `select graphile_worker.add_job('paid', ${bodySql('$2::int')}) from generate_series(0, $1::int - 1) n`,
        [events, customers],
      );
      await settle(database);
      // Answered when the first job begins, because starting is not part of the work.
      await child.ask(events);
      const measured = await measure(
        events,
        () => cpuOf(child.pid),
        database,
        () => child.ask('the end'),
      );
      await checkChanges(database, events);
      return measured;
    },
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  };
}

/** The number of connections that Neon's proxy keeps for the Workers. */
const WIRE_CONNECTIONS = 20;

export async function startWire(database: BenchDatabase): Promise<Drainer> {
  const child = await startChild('peers/wire.ts', database.directUrl, String(WIRE_CONNECTIONS));
  return {
    name: 'one transaction per event',
    async drain({ events, customers }) {
      await emptyTables(database);
      await settle(database);
      const measured = await measure(
        events,
        () => cpuOf(child.pid),
        database,
        () => child.ask({ events, customers }),
      );
      await checkChanges(database, events);
      return measured;
    },
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  };
}
