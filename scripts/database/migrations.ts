import { DrizzleQueryError } from 'drizzle-orm/errors';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import type pg from 'pg';
import type { WorkerKind } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { asOwner, hasCode } from './connect.ts';
import { grantRights } from './worker-roles.ts';

/** Where the migrations are. */
const FOLDERS = { engine: 'drizzle/engine', app: 'drizzle/app' };

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

/**
 * Applies the migrations that are missing, over TCP, and grants what they need. Returns the Workers without a role.
 *
 * The engine's and the app's have a journal each. Drizzle applies what is newer than the newest one in the journal, so
 * with one journal an engine migration that is older than the app's newest would be skipped without a word.
 */
export async function migrate(databaseUrl: string, folders = FOLDERS): Promise<readonly WorkerKind[]> {
  return asOwner(databaseUrl, async (client) => {
    await client.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
    // Both journals are in the schema "drizzle", which the migrator creates: an engine migration creates "webhooks".
    await applyWhenUnlocked(client, { migrationsFolder: folders.engine, migrationsTable: 'engine_migrations' });
    await applyWhenUnlocked(client, { migrationsFolder: folders.app, migrationsTable: 'app_migrations' });
    return grantRights(client);
  });
}

/** All migrations that are missing in a journal are one transaction, so a try that gave up has changed nothing. */
async function applyWhenUnlocked(client: pg.Client, journal: Parameters<typeof applyMigrations>[1]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await applyMigrations(drizzle(client), journal);
    } catch (error) {
      if (!hasCode(error, LOCK_NOT_AVAILABLE)) throw inWords(error, journal.migrationsFolder);
      if (tries === TRIES) {
        throw new UserError(
          'the migration did not get the locks that it needs, and has changed nothing: see "Change tables" in docs/runbook.md',
        );
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Drizzle's message repeats the statement and hides why Postgres refused it. */
function inWords(error: unknown, folder: string): unknown {
  if (!(error instanceof DrizzleQueryError) || hasCode(error, '42501')) return error;
  const statement = error.query.trim().split('\n', 1)[0];
  return new UserError(
    `a migration in ${folder} failed, and nothing of it was applied: ${error.cause?.message}, at: ${statement}`,
  );
}
