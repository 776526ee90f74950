import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import type { WorkerKind } from '../../src/db/rights.ts';
import { grantRights } from './grants.ts';
import { UserError } from './user-error.ts';

/** Any number works, if all machines that migrate use the same one. */
const LOCK = 20_260_101;

/** Applies the migrations that are missing, over TCP, and grants what they need. Returns the Workers without a role. */
export async function migrate(databaseUrl: string): Promise<readonly WorkerKind[]> {
  return asOwner(databaseUrl, async (client) => {
    await applyMigrations(drizzle(client), { migrationsFolder: 'drizzle' });
    return grantRights(client);
  });
}

/** Works as the owner of the tables. A second machine that does so at the same time waits for the first. */
export async function asOwner<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(directUrl(databaseUrl));
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    return await work(client);
  } catch (error) {
    if (codeOf(error) !== '42501' && codeOf(Reflect.get(Object(error), 'cause')) !== '42501') throw error;
    throw new UserError('the role in DATABASE_URL may not do this: use the URL of the role that owns the tables');
  } finally {
    // The end of the session also releases the lock.
    await client.end();
  }
}

/** A connection over TCP, or one line that says why there is none. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new UserError(`the database could not be reached: ${hint(error)}`);
  }
}

/** A session lock needs a session: behind Neon's pooler (PgBouncer) there is none. */
function directUrl(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.hostname = url.hostname.replace(/^([^.]+)-pooler\./, '$1.');
  return url.href;
}

function hint(error: unknown): string {
  const code = codeOf(error);
  if (code === '28P01') return 'the role or password in DATABASE_URL is wrong (for local data: npm run dev -- --fresh)';
  if (code === '3D000') return 'the database that DATABASE_URL names does not exist';
  if (code === 'ECONNREFUSED') return 'no server listens there; for local data start npm run dev first';
  return `check DATABASE_URL and the network (${code ?? 'no answer'})`;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
}
