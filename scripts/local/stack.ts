import { WORKERS, type WorkerKind } from '../config/worker-config.ts';
import { migrate } from '../database/migrations.ts';
import { createWorkerRoles } from '../database/worker-roles.ts';
import { LOOPBACK } from '../lib/port.ts';
import { type LocalNeon, startNeon } from './neon/endpoint.ts';
import { type Outside, startOutside } from './outside.ts';
import { createDatabase, createRole } from './owner.ts';
import { type Postgres, randomPassword, startPostgres } from './postgres.ts';

/** A migrated database on this machine, behind the Neon endpoint. */
export interface LocalDatabase {
  /** Of the role that owns the database and its tables. */
  readonly databaseUrl: string;
  /** What each Worker has as its DATABASE_URL: a role of its own, as in production. */
  readonly workerUrls: Readonly<Record<WorkerKind, string>>;
  readonly postgres: Postgres;
  readonly neon: LocalNeon;
  /** Cancels the statements that still run, and ends everything in the reverse order of its start. */
  stop(): Promise<void>;
}

/** Everything that the Workers need around them. */
export interface Stack extends LocalDatabase {
  readonly outside: Outside;
}

/** Data, role, password and port that last. Without them everything is made up, and thrown away at the end. */
export interface Kept {
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly fresh: boolean;
}

export async function startStack(keep?: Kept): Promise<Stack> {
  const database = await startDatabase(keep);
  const outside = await startOutside();
  const stop = async () => {
    await outside.close();
    await database.stop();
  };
  return { ...database, outside, stop };
}

export async function startDatabase(keep?: Kept): Promise<LocalDatabase> {
  const url = new URL(keep?.databaseUrl ?? `postgres://claimcheck:${randomPassword()}@${LOOPBACK}:0/claimcheck`);
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const name = decodeURIComponent(url.pathname.slice(1));
  const postgres = await startPostgres(keep ? { keepIn: keep.dataDir, fresh: keep.fresh } : {});
  const stops = [() => postgres.stop()];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    await createRole(postgres, user, password);
    const neon = await startNeon({ postgresPort: postgres.port, port: Number(url.port) });
    stops.push(() => neon.close());
    url.port = String(neon.port);
    await createDatabase(url, name, postgres.dataDir);
    await migrate(url.href);
    // New passwords at each start, so that none of them has to be stored.
    const { receiver = '', consumer = '', ops = '' } = (await createWorkerRoles(url.href, { rotate: WORKERS })).urls;
    return { databaseUrl: url.href, workerUrls: { receiver, consumer, ops }, postgres, neon, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
