import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { asOwner, connect } from '../../../scripts/database/connect.ts';
import { migrate } from '../../../scripts/database/migrations.ts';
import { createWorkerRoles } from '../../../scripts/database/worker-roles.ts';
import { freePort } from '../../../scripts/lib/port.ts';
import { makeCheckout } from '../checkout.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A database without tables. */
async function emptyDatabase(name: string): Promise<string> {
  await database.sql(`create database ${name}`);
  return new URL(`/${name}`, database.stack.databaseUrl).href;
}

async function ask(url: string, query: string): Promise<unknown[]> {
  const client = await connect(url);
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

/** A copy of the migrations of this checkout. */
function copyMigrations(): { engine: string; app: string } {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-migrations-'));
  folders.push(folder);
  cpSync('drizzle', folder, { recursive: true });
  return { engine: join(folder, 'engine'), app: join(folder, 'app') };
}

interface Journal {
  readonly entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

/** What drizzle-kit writes for one more migration. */
function addMigration(folder: string, tag: string, when: number, sql: string): void {
  const file = join(folder, 'meta/_journal.json');
  const journal: Journal = JSON.parse(readFileSync(file, 'utf8'));
  journal.entries.push({ idx: journal.entries.length, version: '7', when, tag, breakpoints: true });
  writeFileSync(file, JSON.stringify(journal));
  writeFileSync(join(folder, `${tag}.sql`), sql);
}

it('migrations can run twice, and on four machines at once', async () => {
  const url = await emptyDatabase('four');
  await Promise.all(Array.from({ length: 4 }, () => migrate(url)));
  await migrate(url);
  for (const set of ['engine', 'app']) {
    const { entries }: Journal = JSON.parse(readFileSync(`drizzle/${set}/meta/_journal.json`, 'utf8'));
    expect(await ask(url, `select count(*)::int as applied from drizzle.${set}_migrations`)).toEqual([
      { applied: entries.length },
    ]);
  }
});

it('an engine migration that comes later than newer ones of the app is applied', async () => {
  const url = await emptyDatabase('later');
  const copy = copyMigrations();
  const now = Date.now();
  addMigration(copy.app, '0999_app', now + 1000, 'create table newer (id text)');
  await expect(migrate(url, copy)).resolves.toEqual(expect.any(Array));
  // Made before the app's newest migration, and published after it.
  addMigration(copy.engine, '0999_engine', now, 'alter table webhooks.events add column later text');
  await expect(migrate(url, copy)).resolves.toEqual(expect.any(Array));
  const added = `
    select table_name, column_name from information_schema.columns
    where column_name = 'later' or table_name = 'newer' order by 1`;
  expect(await ask(url, added)).toEqual([
    { table_name: 'events', column_name: 'later' },
    { table_name: 'newer', column_name: 'id' },
  ]);
});

it('a migration that fails names its folder and Postgres’s own reason, and nothing of it is applied', async () => {
  const url = await emptyDatabase('failing');
  const copy = copyMigrations();
  const statements = ['create table kept_out (id text);', 'alter table missing add column x text;'];
  addMigration(copy.app, '0999_app', Date.now() + 1000, statements.join('\n--> statement-breakpoint\n'));
  await expect(migrate(url, copy)).rejects.toThrow(
    `a migration in ${copy.app} failed, and nothing of it was applied: relation "missing" does not exist, at: alter table missing add column x text`,
  );
  expect(await ask(url, `select to_regclass('kept_out') as made, to_regclass('webhooks.events') as engine`)).toEqual([
    { made: null, engine: 'webhooks.events' },
  ]);
});

it('data of another version, as of a clone before npm run init, are explained in one line with what to do', async () => {
  const url = await emptyDatabase('other_version');
  const copy = copyMigrations();
  const file = join(copy.engine, 'meta/_journal.json');
  const journal: Journal = JSON.parse(readFileSync(file, 'utf8'));
  await migrate(url, copy);
  for (const entry of journal.entries) entry.when = Date.now() + 1000;
  writeFileSync(file, JSON.stringify(journal));
  await expect(migrate(url, copy)).rejects.toThrow(
    /^a migration in \S+ failed, and nothing of it was applied: schema "webhooks" already exists, at: CREATE SCHEMA "webhooks"\. The database has had migrations that are not in \S+: it is of another version\. To start over with empty local data: npm run dev -- --fresh$/,
  );
});

it('a migration that Drizzle would skip, because a newer one of another branch is applied, is refused', async () => {
  const url = await emptyDatabase('branches');
  const copy = copyMigrations();
  const now = Date.now();
  addMigration(copy.app, '0998_one', now + 2000, 'create table one (id text)');
  await migrate(url, copy);
  addMigration(copy.app, '0999_other', now + 1000, 'create table other (id text)');
  await expect(migrate(url, copy)).rejects.toThrow(
    `${copy.app}/0999_other.sql would be skipped, because a newer migration has been applied before: set its "when" in`,
  );
});

it('a session that holds the lock of migrations is named, and not waited for without end', async () => {
  const url = await emptyDatabase('held');
  await migrate(url);
  const receiver = new URL(Object.values((await createWorkerRoles(url, { rotate: [] })).urls)[0] ?? '');
  receiver.searchParams.set('application_name', 'a stranger');
  const holder = await connect(receiver.href);
  await asOwner(url, async () => {}, '1s');
  await holder.query('select pg_advisory_lock(20260101)');
  const [{ pid } = { pid: 0 }] = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  await expect(asOwner(url, async () => {}, '1s')).rejects.toThrow(
    `gave up after 1s, because the lock of migrations is held by another session: process ${pid} of the role held_receiver, a stranger. To end it: select pg_terminate_backend(${pid})`,
  );
  await holder.end();
});

it('npm run db:migrate says in one line which database it works on', async () => {
  const url = await emptyDatabase('named');
  const checkout = await makeCheckout();
  const shell = await checkout.run(['migrate'], { DATABASE_URL: url }).result;
  await checkout.write('.dev.vars', `DATABASE_URL="${url}"\n`);
  const file = await checkout.run(['migrate']).result;
  await checkout.remove();
  const name = `the database named on ${new URL(url).host} (DATABASE_URL is from`;
  expect(shell.text).toBe(`${name} the environment)\nthe database is up to date`);
  expect(file.text).toBe(`${name} .dev.vars, because the environment has none)\nthe database is up to date`);
});

it('a database that can’t be reached is explained in one line, without its password', async () => {
  const url = `postgres://claimcheck:canary-b2@127.0.0.1:${await freePort()}/claimcheck`;
  const error = await migrate(url).then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  expect(error?.message).toMatch(/^the database claimcheck on 127\.0\.0\.1:\d+ could not be reached: .*npm run dev/);
  expect(String(error)).not.toContain('canary');
});
