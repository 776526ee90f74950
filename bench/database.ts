import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../scripts/database/migrations.ts';
import { LOOPBACK } from '../scripts/lib/port.ts';
import { startPostgres } from '../scripts/local/postgres.ts';
import { createDatabase, createRole } from '../scripts/local/stack.ts';
import { startChild } from './child.ts';
import { cpuOf, cpuOfFamily } from './cpu.ts';
import { FOLDER } from './folder.ts';

export interface BenchDatabase {
  /** For Workers: over the lean Neon endpoint. */
  readonly url: string;
  /** For programs that speak PostgreSQL's own protocol. */
  readonly directUrl: string;
  /** The same, at the distance of `setLatency`. */
  readonly delayedUrl: string;
  readonly client: pg.Client;
  /** CPU time of Postgres, with all its processes, in ms. */
  cpu(): number;
  /** CPU time of the endpoint, in ms. It takes the place of Neon's proxy, which has machines of its own. */
  endpointCpu(): number;
  /** Makes every answer of the endpoint and of `delayedUrl` come this much later. */
  setLatency(ms: number): Promise<void>;
  /** What was asked of the endpoint since the last time. */
  counts(): Promise<{ requests: number; statements: number }>;
  stop(): Promise<void>;
}

const ROLE = 'claimcheck';
const PASSWORD = 'bench';
const DATABASE = 'bench';

let started = 0;

export async function startDatabase(): Promise<BenchDatabase> {
  // Kept data is written as in production, with fsync and full_page_writes.
  const postgres = await startPostgres({ keepIn: join(FOLDER, `postgres-${++started}`) });
  const stops = [() => rm(postgres.dataDir, { recursive: true, force: true }), () => postgres.stop()];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const urlWith = (port: number) => `postgres://${ROLE}:${PASSWORD}@${LOOPBACK}:${port}/${DATABASE}`;
    const directUrl = urlWith(postgres.port);
    await createRole(postgres, ROLE, PASSWORD);
    await createDatabase(new URL(directUrl), DATABASE);
    await migrate(directUrl);
    const client = new pg.Client({ connectionString: directUrl });
    await client.connect();
    stops.push(() => client.end());
    const where = [String(postgres.port), ROLE, PASSWORD, DATABASE];
    const neon = await startChild<number>('neon.ts', ...where, '0');
    stops.push(() => neon.stop());
    const delay = await startChild<number>('peers/delay.ts', String(postgres.port));
    stops.push(() => delay.stop());
    const pid = Number(readFileSync(join(postgres.dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return {
      url: urlWith(neon.started),
      directUrl,
      delayedUrl: urlWith(delay.started),
      client,
      cpu: () => cpuOfFamily(pid),
      endpointCpu: () => cpuOf(neon.pid),
      async setLatency(latencyMs) {
        await neon.ask({ latencyMs });
        await delay.ask(latencyMs);
      },
      counts: () => neon.ask('counts'),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
