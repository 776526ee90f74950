import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../cli/database/migrations.ts';
import { LOOPBACK } from '../cli/lib/port.ts';
import { startPostgres } from '../cli/local/postgres.ts';
import { createDatabase, createRole } from '../cli/local/stack.ts';
import { startChild } from './child.ts';
import { cpuOfFamily } from './cpu.ts';
import { FOLDER } from './folder.ts';

export interface BenchDatabase extends AsyncDisposable {
  /** For Workers, through the lean Neon endpoint. */
  readonly url: string;
  /** For programs that use PostgreSQL's own protocol. */
  readonly directUrl: string;
  /** The same with the latency of `setLatency`. */
  readonly delayedUrl: string;
  readonly client: pg.Client;
  /** CPU time of all Postgres processes in ms. */
  cpu(): number;
  /** Delays every answer of the endpoint and of `delayedUrl`. */
  setLatency(ms: number): Promise<void>;
}

const ROLE = 'claimcheck';
const PASSWORD = 'bench';
const DATABASE = 'bench';

let databases = 0;

export async function startDatabase(): Promise<BenchDatabase> {
  await using started = new AsyncDisposableStack();
  // Use kept data, because it is written as in production, with fsync and full_page_writes.
  const postgres = await startPostgres({ keepIn: join(FOLDER, `postgres-${++databases}`) });
  started.defer(() => rm(postgres.dataDir, { recursive: true, force: true }));
  started.defer(() => postgres.stop());
  const urlWith = (port: number) => `postgres://${ROLE}:${PASSWORD}@${LOOPBACK}:${port}/${DATABASE}`;
  const directUrl = urlWith(postgres.port);
  await createRole(postgres, ROLE, PASSWORD);
  await createDatabase(new URL(directUrl), DATABASE);
  await migrate(directUrl);
  const client = new pg.Client({ connectionString: directUrl });
  await client.connect();
  started.defer(() => client.end());
  const where = [String(postgres.port), ROLE, PASSWORD, DATABASE];
  const neon = started.use(await startChild<number>('neon.ts', ...where));
  const delay = started.use(await startChild<number>('peers/delay.ts', String(postgres.port)));
  const pid = Number(readFileSync(join(postgres.dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const all = started.move();
  return {
    url: urlWith(neon.started),
    directUrl,
    delayedUrl: urlWith(delay.started),
    client,
    cpu: () => cpuOfFamily(pid),
    async setLatency(ms) {
      await neon.ask(ms);
      await delay.ask(ms);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
