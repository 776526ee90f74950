import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import config from '../../drizzle.config.ts';

const REMEDY = 'run npm run db:generate, and commit the migration that it writes';

type Snapshot = ReturnType<typeof generateDrizzleJson>;

/** Says which tables have changed since the last migration was generated. `undefined` if none has. */
export async function unmigrated(): Promise<string | undefined> {
  const files = await Promise.all(
    // A query, because dev asks again after the files have changed, and Node keeps a module that it has imported.
    [config.schema ?? []].flat().map((file) => import(`${pathToFileURL(resolve(file)).href}?${Date.now()}`)),
  );
  return changesBetween(newestSnapshot(), generateDrizzleJson(Object.assign({}, ...files)));
}

export async function changesBetween(before: Snapshot, now: Snapshot): Promise<string | undefined> {
  // Before drizzle-kit is called: if tables were added and others removed, it would ask which of them were renamed.
  const created = namesMissingIn(before, now);
  const dropped = namesMissingIn(now, before);
  if (created.length > 0) return `no migration creates ${created.join(', ')}: ${REMEDY}`;
  if (dropped.length > 0) return `no migration drops ${dropped.join(', ')}, which is no longer defined: ${REMEDY}`;
  const statements = await generateMigration(before, now);
  return statements.length > 0 ? `a table has changed since the last migration: ${REMEDY}` : undefined;
}

function namesMissingIn(snapshot: Snapshot, other: Snapshot): string[] {
  return Object.keys(other.tables)
    .filter((key) => !(key in snapshot.tables))
    .map((key) => other.tables[key]?.name ?? key);
}

function newestSnapshot(): Snapshot {
  const names = readdirSync('drizzle/meta').filter((name) => name.endsWith('_snapshot.json'));
  const newest = names.sort().at(-1);
  return newest ? JSON.parse(readFileSync(`drizzle/meta/${newest}`, 'utf8')) : generateDrizzleJson({});
}
