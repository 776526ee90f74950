import type { WorkerKind } from '../../src/db/rights.ts';
import { WORKERS } from './grants.ts';
import { migrate } from './migrations.ts';
import { type LocalNeon, startNeon } from './neon.ts';
import { type Outside, startOutside } from './outside.ts';
import { LOOPBACK } from './port.ts';
import { type Postgres, randomPassword, startPostgres } from './postgres.ts';
import { createDatabase, createRole } from './role.ts';
import { createWorkerRoles } from './worker-roles.ts';

/** Everything that the Workers need around them, on this machine. */
export interface Stack {
  /** Of the role that owns the database and its tables. */
  readonly databaseUrl: string;
  /** What each Worker has as its DATABASE_URL: a role of its own, as in production. */
  readonly workerUrls: Readonly<Record<WorkerKind, string>>;
  readonly postgres: Postgres;
  readonly neon: LocalNeon;
  readonly outside: Outside;
  /** Cancels the statements that still run, and ends everything in the reverse order of its start. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** Data, role, password and ports that last. Without them everything is made up, and thrown away at the end. */
  readonly keep?: {
    readonly dataDir: string;
    readonly databaseUrl: string;
    readonly outsidePort: number;
    readonly fresh: boolean;
  };
}

export async function startStack({ keep }: StackOptions = {}): Promise<Stack> {
  const url = new URL(keep?.databaseUrl ?? `postgres://claimcheck:${randomPassword()}@${LOOPBACK}:0/claimcheck`);
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decodeURIComponent);
  const postgres = await startPostgres(keep ? { keepIn: keep.dataDir, fresh: keep.fresh } : {});
  const stops = [() => postgres.stop()];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    await createRole(postgres, user ?? '', password ?? '');
    const neon = await startNeon({ postgresPort: postgres.port, port: Number(url.port) });
    stops.push(() => neon.close());
    url.port = String(neon.port);
    await createDatabase(url, database ?? '', postgres.dataDir);
    await migrate(url.href);
    // New passwords at each start, so that none of them has to be stored.
    const { receiver = '', consumer = '' } = (await createWorkerRoles(url.href, { rotate: WORKERS })).urls;
    const outside = await startOutside(keep?.outsidePort);
    stops.push(() => outside.close());
    return { databaseUrl: url.href, workerUrls: { receiver, consumer }, postgres, neon, outside, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
