import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import type pg from 'pg';
import { isLocal } from '../config/dev-vars.ts';
import type { WorkerKind } from '../config/worker-config.ts';
import { ENGINE } from '../lib/engine.ts';
import { UserError } from '../lib/user-error.ts';
import { asOwner, hasCode, holderOf, LOCK_NOT_AVAILABLE } from './connect.ts';
import { grantRights } from './worker-roles.ts';

/** The folders with the migrations. */
export const FOLDERS = { engine: join(ENGINE, 'drizzle'), app: 'drizzle' };

/**
 * While a migration waits for a table's lock, all claims wait behind it. So it gives up after this time, which is
 * shorter than the time limit of a claim, lets the claims pass, and tries again.
 */
const LOCK_TIMEOUT = '500ms';
/** Long enough for the waiting claims, and for a long query or a backup to end before the last try. */
const PAUSE_MS = 2000;
const TRIES = 60;

/**
 * Applies missing migrations over TCP and grants the rights that they need. Returns the Workers without a role.
 *
 * The engine and the app have separate journals. Drizzle applies only migrations that are newer than the newest one in
 * the journal, so with one journal it would silently skip an engine migration that is older than the app's newest.
 */
export async function migrate(
  databaseUrl: string,
  folders = FOLDERS,
  tries = { count: TRIES, pauseMs: PAUSE_MS },
): Promise<readonly WorkerKind[]> {
  return asOwner(databaseUrl, async (client) => {
    await client.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
    // Both journals are in the schema "drizzle", which the migrator creates. They can't be in "webhooks", which an
    // engine migration creates.
    const { engine, app } = folders;
    const local = isLocal(new URL(databaseUrl));
    await applyWhenUnlocked(client, { migrationsFolder: engine, migrationsTable: 'engine_migrations' }, local, tries);
    await applyWhenUnlocked(client, { migrationsFolder: app, migrationsTable: 'app_migrations' }, local, tries);
    return grantRights(client);
  });
}

interface Journal {
  readonly migrationsFolder: string;
  readonly migrationsTable: string;
}

/** Applies all missing migrations of a journal in one transaction, so a failed try has changed nothing. */
async function applyWhenUnlocked(
  client: pg.Client,
  journal: Journal,
  isLocal: boolean,
  { count, pauseMs }: { readonly count: number; readonly pauseMs: number },
): Promise<void> {
  const advice = await compare(client, journal, isLocal);
  for (let tries = 1; ; tries++) {
    try {
      return await applyMigrations(drizzle(client), journal);
    } catch (error) {
      if (!hasCode(error, LOCK_NOT_AVAILABLE)) throw inWords(error, journal.migrationsFolder, advice);
      if (tries === count) {
        const holder = await holderOf(
          client,
          `relation in (select oid from pg_class where relowner = current_user::regrole)`,
        );
        throw new UserError(
          `the migration did not get the locks that it needs, and has changed nothing. A lock is held by ${holder}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/**
 * Compares the applied migrations with the files, and returns a text to add to the message of a failing migration.
 * Throws if Drizzle would silently skip a migration because it is older than the newest applied one, which happens when
 * branches are merged.
 */
async function compare(
  client: pg.Client,
  { migrationsFolder, migrationsTable }: Journal,
  isLocal: boolean,
): Promise<string> {
  const startOver = isLocal ? '. To start over with empty local data: npm run dev -- --fresh' : '';
  const applied = await appliedMigrations(client, migrationsTable);
  const entries = readJournal(migrationsFolder);
  const isOther = applied.some((time) => !entries.some(({ when }) => when === time));
  const other = isOther
    ? `. The database has migrations that are not in ${migrationsFolder}, so it belongs to another version`
    : '';
  const skipped = entries.find(({ when }) => !applied.includes(when) && when < Math.max(...applied));
  if (!skipped) return other + startOver;
  throw new UserError(
    `${migrationsFolder}/${skipped.tag}.sql would be skipped, because a newer migration has already been applied: ` +
      `set its "when" in ${journalFile(migrationsFolder)} to ${Date.now()}${other}${startOver}`,
  );
}

export interface JournalEntry {
  readonly idx: number;
  readonly when: number;
  readonly tag: string;
}

/** The migrations of a folder, oldest first. */
export function readJournal(folder: string): readonly JournalEntry[] {
  return JSON.parse(readFileSync(journalFile(folder), 'utf8')).entries;
}

function journalFile(folder: string): string {
  return `${folder}/meta/_journal.json`;
}

/** The applied migrations, identified by the times when they were generated. */
export async function appliedMigrations(client: pg.Client, table: string): Promise<readonly number[]> {
  const { rows: tables } = await client.query<{ there: boolean }>(`select to_regclass($1) is not null as there`, [
    `drizzle.${table}`,
  ]);
  if (!tables[0]?.there) return [];
  const { rows } = await client.query<{ time: string }>(`select created_at as time from drizzle.${table}`);
  return rows.map(({ time }) => Number(time));
}

/** The migrations that are not applied yet. */
export async function missingMigrations(client: pg.Client, folders = FOLDERS): Promise<readonly string[]> {
  const missing = Object.entries(folders).map(async ([set, folder]) => {
    const applied = await appliedMigrations(client, `${set}_migrations`);
    return readJournal(folder).filter(({ when }) => !applied.includes(when));
  });
  return (await Promise.all(missing)).flat().map(({ tag }) => tag);
}

/** Adds why Postgres refused the statement, because Drizzle's message only repeats the statement. */
function inWords(error: unknown, folder: string, advice: string): unknown {
  if (!(error instanceof DrizzleQueryError) || hasCode(error, '42501')) return error;
  const statement = error.query.trim().split('\n', 1)[0]?.replace(/;$/, '');
  return new UserError(
    `a migration in ${folder} failed, and nothing of it was applied: ${error.cause?.message}, at: ${statement}${advice}`,
  );
}
