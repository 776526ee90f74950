// A program: `node engine/bench/peers/graphile.ts <URL of Postgres> <settings> <jobs at once>`. Works the jobs that its parent adds.

import { Logger, run, runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { GraphileSettings } from '../drain-peers.ts';
import { INCREMENT, UPSERT } from './statements.ts';

interface Paid {
  readonly data: { readonly object: { readonly id: string; readonly customer: string; readonly amount_paid: number } };
}

const [url, settings, jobsAtOnce] = process.argv.slice(2);
const concurrency = Number(jobsAtOnce);

// One connection for each job, one for notifications, and some for its own queries. Idle connections are closed,
// because all contenders share Postgres's hundred connections.
const pool = new pg.Pool({ connectionString: url ?? '', max: concurrency + 5, idleTimeoutMillis: 100 });
pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));

const BATCHING = { completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const WORKER: Readonly<Record<GraphileSettings, object>> = {
  default: {},
  'local queue': { localQueue: { size: 100 }, ...BATCHING },
  tuned: { localQueue: { size: 500, refetchDelay: { durationMs: 10 } }, ...BATCHING },
};

let drained: Promise<void> | undefined;

// The first message starts the worker and is answered when the first job begins. The second is answered when no job is
// left.
process.on('message', async (jobs: number | 'the end') => {
  if (typeof jobs === 'number') {
    const begun = Promise.withResolvers<void>();
    drained = drain(jobs, begun.resolve);
    await begun.promise;
    process.send?.('begun');
  } else {
    await drained;
    process.send?.('drained');
  }
});
await runMigrations({ pgPool: pool });
process.send?.('ready');

async function drain(jobs: number, onBegin: () => void): Promise<void> {
  const { promise: worked, resolve } = Promise.withResolvers<void>();
  let left = jobs;
  const runner = await run({
    pgPool: pool,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    preset: { worker: WORKER[settings as GraphileSettings] },
    taskList: {
      async paid(payload, { withPgClient }) {
        onBegin();
        const { id, customer, amount_paid: amount } = (payload as Paid).data.object;
        await withPgClient(async (client) => {
          await client.query('begin');
          await client.query(UPSERT, [id, customer, amount]);
          await client.query(INCREMENT, [customer, amount]);
          await client.query('commit');
        });
        if (--left === 0) resolve();
      },
    },
  });
  await worked;
  // The last jobs are done only when they have been deleted.
  while ((await pool.query('select from graphile_worker._private_jobs limit 1')).rowCount) {}
  // Stopping is not part of the work.
  setImmediate(() => void runner.stop());
}
