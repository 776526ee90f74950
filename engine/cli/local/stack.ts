import { openReadOnlyDatabase, queryOf } from '../../src/db/user-statement.ts';
import type { Seed } from '../../src/kit/index.ts';
import { WORKERS, type WorkerKind } from '../config/worker-config.ts';
import { connect } from '../database/connect.ts';
import { migrate } from '../database/migrations.ts';
import { createWorkerRoles } from '../database/worker-roles.ts';
import { LOOPBACK } from '../lib/port.ts';
import { UserError } from '../lib/user-error.ts';
import { type LocalNeon, startNeon } from './neon/endpoint.ts';
import { type Outside, startOutside } from './outside.ts';
import { type Postgres, randomPassword, startPostgres } from './postgres.ts';

/** A migrated database on this machine, behind the Neon endpoint. */
export interface LocalDatabase {
  /** The URL of the role that owns the database and its tables. */
  readonly databaseUrl: string;
  /** Each Worker's DATABASE_URL, with its own role as in production. */
  readonly workerUrls: Readonly<Record<WorkerKind, string>>;
  readonly postgres: Postgres;
  readonly neon: LocalNeon;
  /** Cancels running statements and ends everything in reverse order. */
  stop(): Promise<void>;
}

/** Everything that the Workers need. */
export interface Stack extends LocalDatabase {
  readonly outside: Outside;
}

/** Persistent data, role, password and port. Without them everything is random and deleted at the end. */
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
    await createDatabase(url, name);
    await migrate(url.href);
    // Set new passwords at each start, so that none must be stored.
    const { receiver = '', consumer = '', ops = '' } = (await createWorkerRoles(url.href, { rotate: WORKERS })).urls;
    return { databaseUrl: url.href, workerUrls: { receiver, consumer, ops }, postgres, neon, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Inserts the rows that an app's samples need: `seed` in src/samples.ts. */
export async function seedTables(databaseUrl: string, seed: Seed | undefined): Promise<void> {
  if (!seed) return;
  const client = await connect(databaseUrl);
  try {
    for (const statement of seed(openReadOnlyDatabase(databaseUrl)) ?? []) {
      const query = queryOf(statement);
      if (!query) throw new Error('it returned something that is not a statement');
      await client.query(query.sql, [...query.params]);
    }
  } catch (error) {
    throw new UserError(`seed in src/samples.ts failed: ${(error as Error).message}`);
  } finally {
    await client.end();
  }
}

/** The group from which Neon's roles get their rights. Despite its name, the members are not superusers. */
const GROUP = 'neon_superuser';
const RIGHTS = 'createdb createrole bypassrls replication';

/** Creates the role in DATABASE_URL with the rights of a Neon role. Only possible with new data. */
export async function createRole({ port, superuser }: Postgres, user: string, password: string): Promise<void> {
  // With existing data the role exists, unless DATABASE_URL has changed. The first connection then reports it.
  if (!superuser) return;
  const client = await connect(`postgres://${superuser.user}:${superuser.password}@${LOOPBACK}:${port}/postgres`);
  try {
    await client.query(`
      create role ${GROUP} ${RIGHTS} in role pg_read_all_data, pg_write_all_data, pg_create_subscription;
      grant pg_monitor, pg_signal_backend to ${GROUP} with admin option;
      create role ${client.escapeIdentifier(user)} login ${RIGHTS} in role ${GROUP}
        password ${client.escapeLiteral(password)}`);
  } finally {
    await client.end();
  }
}

/** Creates the database in DATABASE_URL if it is missing. The role owns it and its public schema. */
export async function createDatabase(url: URL, name: string): Promise<void> {
  const client = await connect(new URL('/postgres', url).href);
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (!rowCount) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
