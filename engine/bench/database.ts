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
  /** For Workers: over the lean Neon endpoint. */
  readonly url: string;
  /** For programs that speak PostgreSQL's own protocol. */
  readonly directUrl: string;
  /** The same, at the distance of `setLatency`. */
  readonly delayedUrl: string;
  readonly client: pg.Client;
  /** CPU time of Postgres, with all its processes, in ms. */
  cpu(): number;
  /** Makes every answer of the endpoint and of `delayedUrl` come this much later. */
  setLatency(ms: number): Promise<void>;
}

const ROLE = 'claimcheck';
const PASSWORD = 'bench';
const DATABASE = 'bench';

let databases = 0;

export async function startDatabase(): Promise<BenchDatabase> {
  await using started = new AsyncDisposableStack();
  // Kept data is written as in production, with fsync and full_page_writes.
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
