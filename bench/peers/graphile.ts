// A program: `node bench/peers/graphile.ts <URL of Postgres> <jobs at once> <local queue>`. Works the jobs that its parent adds.

import { Logger, run, runMigrations } from 'graphile-worker';
import pg from 'pg';
import { INCREMENT, UPSERT } from './statements.ts';

interface Paid {
  readonly data: { readonly object: { readonly id: string; readonly customer: string; readonly amount_paid: number } };
}

const [url, jobsAtOnce, localQueue] = process.argv.slice(2);
const concurrency = Number(jobsAtOnce);

// One connection for each job, one for its notifications, and some for its own queries.
const pool = new pg.Pool({ connectionString: url ?? '', max: concurrency + 5 });
pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));

/** As its documentation on performance advises: a local queue of as many jobs as a batch of ours, completed in batches. */
const BATCHING = { worker: { localQueue: { size: 100 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };

process.on('message', (jobs: number) => void drain(jobs));
await runMigrations({ pgPool: pool });
process.send?.('ready');

/** Works until no job is left. To stop is not part of the work. */
async function drain(jobs: number): Promise<void> {
  const { promise: worked, resolve } = Promise.withResolvers<void>();
  let left = jobs;
  const runner = await run({
    pgPool: pool,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    ...(localQueue === 'true' ? { preset: BATCHING } : {}),
    taskList: {
      async paid(payload, { withPgClient }) {
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
  // The last jobs are not done before they are deleted.
  while ((await pool.query('select from graphile_worker._private_jobs limit 1')).rowCount) {}
  process.send?.('drained');
  await runner.stop();
}
