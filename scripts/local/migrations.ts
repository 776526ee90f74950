import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { UserError } from './user-error.ts';

/** Any number works, if all machines that migrate use the same one. */
const LOCK = 20_260_101;

/** Applies the migrations that are missing, over TCP. A second machine that migrates at the same time waits for the first. */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = await connect(directUrl(databaseUrl));
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await applyMigrations(drizzle(client), { migrationsFolder: 'drizzle' });
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
  const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  if (code === '28P01') return 'the role or password in DATABASE_URL is wrong (for local data: npm run dev -- --fresh)';
  if (code === '3D000') return 'the database that DATABASE_URL names does not exist';
  if (code === 'ECONNREFUSED') return 'no server listens there; for local data start npm run dev first';
  return `check DATABASE_URL and the network (${code ?? 'no answer'})`;
}
