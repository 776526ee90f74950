import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import type { WorkerKind } from '../../src/db/rights.ts';
import { grantRights } from './grants.ts';
import { UserError } from './user-error.ts';

/** Any number works, if all machines that migrate use the same one. */
const LOCK = 20_260_101;

/**
 * A migration that waits for a table's lock makes every claim wait behind it. So it gives up after this time, which is
 * shorter than the time limit of a claim, lets the claims pass, and tries again.
 */
const LOCK_TIMEOUT = '500ms';
/** Long enough for the claims that have waited, and for a long query or a backup to end within the tries. */
const PAUSE_MS = 2000;
const TRIES = 60;

/** SQLSTATE lock_not_available: `lock_timeout` has passed. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Applies the migrations that are missing, over TCP, and grants what they need. Returns the Workers without a role. */
export async function migrate(databaseUrl: string, migrationsFolder = 'drizzle'): Promise<readonly WorkerKind[]> {
  return asOwner(databaseUrl, async (client) => {
    await client.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
    await applyWhenUnlocked(client, migrationsFolder);
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
    if (!hasCode(error, '42501')) throw error;
    throw new UserError('the role in DATABASE_URL may not do this: use the URL of the role that owns the tables');
  } finally {
    // The end of the session also releases the lock.
    await client.end();
  }
}

/** All missing migrations are one transaction, so a try that gave up has changed nothing. */
async function applyWhenUnlocked(client: pg.Client, migrationsFolder: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await applyMigrations(drizzle(client), { migrationsFolder });
    } catch (error) {
      if (!hasCode(error, LOCK_NOT_AVAILABLE)) throw error;
      if (tries === TRIES) {
        throw new UserError(
          'the migration did not get the locks that it needs, and has changed nothing: see "Change tables" in docs/runbook.md',
        );
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
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

/** Drizzle's errors have Postgres's as their cause. */
function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code || codeOf(Reflect.get(Object(error), 'cause')) === code;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
}
