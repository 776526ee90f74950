import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from 'drizzle-kit';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import { UserError } from '../lib/user-error.ts';

type Snapshot = ReturnType<typeof generateDrizzleJson>;

/** Says which tables have changed since the last migration was generated. `undefined` if none has. */
export async function unmigrated(
  tables?: Config,
  remedy = 'run npm run db:generate and commit the new migration',
): Promise<string | undefined> {
  const { schema, out = '' } = tables ?? (await importFrom('drizzle.config.ts')).default;
  const files = [schema ?? []].flat().map(importFrom);
  const now = generateDrizzleJson(Object.assign({}, ...(await Promise.all(files))));
  const change = await changesBetween(newestSnapshot(out), now);
  return change && `${change}: ${remedy}`;
}

function importFrom(file: string) {
  return import(pathToFileURL(resolve(file)).href);
}

/** Throws if a table has changed. */
export async function assertMigrated(...set: Parameters<typeof unmigrated>): Promise<void> {
  const problem = await unmigrated(...set);
  if (problem) throw new UserError(problem);
}

/** Describes what has changed. `undefined` if nothing has. */
export async function changesBetween(before: Snapshot, now: Snapshot): Promise<string | undefined> {
  // Compare names before calling drizzle-kit, because it would ask whether a removed table was renamed to an added one.
  const created = namesMissingIn(before, now);
  const dropped = namesMissingIn(now, before);
  if (created.length > 0) return `no migration creates ${created.join(', ')}`;
  if (dropped.length > 0) return `no migration drops ${dropped.join(', ')}, which is no longer defined`;
  const statements = await generateMigration(before, now);
  return statements.length > 0 ? 'a table has changed since the last migration' : undefined;
}

function namesMissingIn(snapshot: Snapshot, other: Snapshot): string[] {
  return Object.keys(other.tables)
    .filter((key) => !(key in snapshot.tables))
    .map((key) => other.tables[key]?.name ?? key);
}

/** The tables after the last migration, or none without a migration. */
function newestSnapshot(folder: string): Snapshot {
  const meta = join(folder, 'meta');
  const names = existsSync(meta) ? readdirSync(meta).filter((name) => name.endsWith('_snapshot.json')) : [];
  const newest = names.sort().at(-1);
  return newest ? JSON.parse(readFileSync(join(meta, newest), 'utf8')) : generateDrizzleJson({});
}
