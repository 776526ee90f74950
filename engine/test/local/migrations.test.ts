import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { unsafeStatements } from '../../cli/database/additive.ts';
import { asOwner, connect, MIGRATING } from '../../cli/database/connect.ts';
import { FOLDERS, migrate } from '../../cli/database/migrations.ts';
import { createWorkerRoles } from '../../cli/database/worker-roles.ts';
import { CLAIM_TIMEOUT_MS } from '../../src/receiver/claim-or-forward.ts';
import { makeCheckout } from '../checkout.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

beforeAll(() =>
  database.sql(`
    create table large as select repeat('x', 1800) as a from generate_series(1, 20000);
    create index made_by_hand on large (md5(a))`),
);

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
  const copy = { engine: join(folder, 'engine'), app: join(folder, 'app') };
  cpSync(FOLDERS.engine, copy.engine, { recursive: true });
  cpSync(FOLDERS.app, copy.app, { recursive: true });
  return copy;
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
  for (const [set, folder] of Object.entries(FOLDERS)) {
    const { entries }: Journal = JSON.parse(readFileSync(`${folder}/meta/_journal.json`, 'utf8'));
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
  // The first has been generated again, and those after it are the same.
  for (const entry of journal.entries.slice(0, 1)) entry.when = Date.now() + 1000;
  writeFileSync(file, JSON.stringify(journal));
  await expect(migrate(url, copy)).rejects.toThrow(
    /^a migration in \S+ failed, and nothing of it was applied: schema "webhooks" already exists, at: CREATE SCHEMA "webhooks"\. The database has migrations that are not in \S+, so it belongs to another version\. To start over with empty local data: npm run dev -- --fresh$/,
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
    `${copy.app}/0999_other.sql would be skipped, because a newer migration has already been applied: set its "when" in`,
  );
});

const USED = 'which the deployed Workers use: deploy code without it first, and do this with the next release';
const LARGE =
  'reads all of public.large, a large table, and blocks claims meanwhile. docs/deploy.md says what to do instead';
const NO_DEFAULT = 'NOT NULL without a default, so the deployed Workers can no longer insert rows: add a default';

it.each([
  ['drop table "invoices" cascade', `drops public.invoices, ${USED}`],
  ['ALTER TABLE "invoices" DROP COLUMN "currency";', `drops public.invoices.currency, ${USED}`],
  ['alter table if exists only Public.Invoices drop Currency', `drops public.invoices.currency, ${USED}`],
  ['alter table webhooks.events drop column if exists summary', `drops webhooks.events.summary, ${USED}`],
  ['ALTER TABLE "invoices" RENAME COLUMN "currency" TO "money";', `renames public.invoices.currency, ${USED}`],
  ['alter table invoices add column note text, rename to bills', `renames public.invoices, ${USED}`],
  ['ALTER TABLE "invoices" ADD COLUMN "note" text NOT NULL;', `makes public.invoices.note ${NO_DEFAULT}`],
  ['alter table invoices alter note set not null', `makes public.invoices.note ${NO_DEFAULT}`],
  ['CREATE INDEX "i" ON "large" USING btree ("a");', LARGE],
  ['create unique index if not exists j on large (a)', LARGE],
  ['alter table large add constraint u unique (a)', LARGE],
  ['alter table large add constraint c check (length(a) > 0)', LARGE],
  ['alter table large alter column a set data type varchar(9000)', LARGE],
  ['DROP INDEX "webhooks"."fingerprint_once"', `drops webhooks.fingerprint_once, ${USED}`],
  ['alter table invoices drop constraint invoices_pkey', `drops public.invoices_pkey, ${USED}`],
  ['alter table webhooks.events alter attempts drop default', `drops the default of webhooks.events.attempts, ${USED}`],
  ['drop index webhooks.events_due; alter table webhooks.events drop constraint known_status', undefined],
  ['alter table invoices add column note text', undefined],
  [`alter table invoices add column note text not null default 'drop table invoices;'`, undefined],
  ['alter table invoices add column n numeric(9, 2), add constraint c check (n > 0), drop constraint d', undefined],
  ['-- drop table invoices;\n/* drop table invoices; */ select 1', undefined],
  [
    'create table fresh (id text not null); alter table fresh add b text not null; create index on fresh (b)',
    undefined,
  ],
  ['create index on invoices (customer); create index if not exists made_by_hand on large (a)', undefined],
  ['alter table large add constraint c check (length(a) > 0) not valid', undefined],
  ['alter table invoices add constraint c check (customer is not null), add check (id is not null)', undefined],
  // The code that is deployed knows neither any more: the migration before was generated, and its statements taken out.
  ['alter table invoices drop column gone; drop table gone', undefined],
])('before a deploy, the migration %j is judged by what the deployed Workers survive', async (statement, problem) => {
  const copy = copyMigrations();
  addMigration(copy.app, '0999_next', Date.now() + 1000, statement);
  const found = await asOwner(database.stack.databaseUrl, (client) => unsafeStatements(client, copy));
  expect(found).toEqual(problem ? [expect.stringContaining(`${copy.app}/0999_next.sql ${problem}`)] : []);
});

it('before a deploy, the engine’s migrations are judged although the app has none', async () => {
  const url = await emptyDatabase('without_app');
  const copy = copyMigrations();
  await migrate(url, copy);
  await ask(url, 'delete from drizzle.app_migrations');
  addMigration(copy.engine, '0999_next', Date.now() + 1000, 'drop table webhooks.alerts');
  expect(await asOwner(url, (client) => unsafeStatements(client, copy))).toEqual([
    `${copy.engine}/0999_next.sql drops webhooks.alerts, ${USED}`,
  ]);
});

it('a session that holds the lock of migrations is named, and not waited for without end; one that is ended says so', async () => {
  const url = await emptyDatabase('held');
  await migrate(url);
  const receiver = new URL(Object.values((await createWorkerRoles(url, { rotate: [] })).urls)[0] ?? '');
  receiver.searchParams.set('application_name', 'a stranger');
  const holder = await connect(receiver.href);
  const lock = { ...MIGRATING, wait: '1s' };
  const end = asOwner(url, (client) => client.query('select pg_terminate_backend(pg_backend_pid())'), lock);
  await expect(end).rejects.toThrow(/^the database has ended the session: run this again$/);
  await holder.query('select pg_advisory_lock(20260101)');
  // Another one that waits has no lock.
  const waiter = await connect(url);
  const waiting = waiter.query('select pg_advisory_lock(20260101)');
  const [{ pid } = { pid: 0 }] = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  await expect(asOwner(url, async () => {}, lock)).rejects.toThrow(
    `gave up after 1s, because the lock of migrations is held by another session: process ${pid} of the role held_receiver, a stranger. To end it: select pg_terminate_backend(${pid})`,
  );
  await holder.end();
  await waiting;
  await waiter.end();
});

it('a migration that does not get the lock of a table gives up after its tries, names who holds it, and has changed nothing', async () => {
  const url = await emptyDatabase('locked');
  const copy = copyMigrations();
  await migrate(url, copy);
  addMigration(copy.engine, '0999_next', Date.now() + 1000, 'alter table webhooks.events add column later text');
  const holder = await connect(`${url}?application_name=a%20backup`);
  await holder.query('begin; lock table webhooks.events in access share mode');
  const [{ pid } = { pid: 0 }] = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  await expect(migrate(url, copy, { count: 2, pauseMs: 1 })).rejects.toThrow(
    `the migration did not get the locks that it needs, and has changed nothing. A lock is held by process ${pid} of the role claimcheck, a backup.`,
  );
  const added = `select from information_schema.columns where column_name = 'later'`;
  expect(await ask(url, added)).toEqual([]);
  await holder.end();
  await migrate(url, copy);
  expect(await ask(url, added)).toHaveLength(1);
  // A try may wait for half a second: longer, and claims would wait behind it.
}, 60_000);

it('a migration waits for a lock for at most half of the time that a claim has, because every claim waits behind it', async () => {
  const url = await emptyDatabase('waits');
  const copy = copyMigrations();
  const limit = "create table waited as select setting::int as ms from pg_settings where name = 'lock_timeout'";
  addMigration(copy.engine, '0999_engine', Date.now() + 1000, limit);
  addMigration(copy.app, '0999_app', Date.now() + 1000, limit.replace('waited', 'waited_app'));
  await migrate(url, copy);
  for (const table of ['waited', 'waited_app']) {
    const [{ ms } = { ms: 0 }] = (await ask(url, `select ms from ${table}`)) as { ms: number }[];
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(CLAIM_TIMEOUT_MS / 2);
  }
}, 60_000);

it('npm run db:migrate says in one line which database it works on', async () => {
  const url = await emptyDatabase('named');
  const checkout = await makeCheckout();
  const shell = await checkout.call(['migrate'], { DATABASE_URL: url });
  await checkout.write('.dev.vars', `DATABASE_URL="${url}"\n`);
  const file = await checkout.call(['migrate']);
  await checkout.remove();
  const name = `the database named on ${new URL(url).host} (DATABASE_URL is from`;
  expect(shell.text).toBe(`${name} the environment)\nthe database is up to date`);
  expect(file.text).toBe(`${name} .dev.vars, because the environment has none)\nthe database is up to date`);
});

it.each([
  [
    'no server listens there',
    (url: URL) => (url.port = '1'),
    /: no server listens there; for local data start npm run dev/,
  ],
  [
    'the password is wrong',
    (url: URL) => (url.password = 'canary-b2'),
    /: the role or password in DATABASE_URL is wrong/,
  ],
  [
    'there is no such database',
    (url: URL) => (url.pathname = '/not_there'),
    /^the database not_there on .*: it does not exist$/,
  ],
  [
    'the network is down. Migrations need a session, so Neon’s pooler is not asked',
    (url: URL) => (url.host = 'ep-cool-1-pooler.eu-central-1.aws.neon.invalid'),
    /^the database \S+ on ep-cool-1\.eu-central-1\.aws\.neon\.invalid\S* .*: check DATABASE_URL and the network \(E/,
  ],
])(
  'a database that can’t be reached is explained in one line, without its password: %s',
  async (_why, change, message) => {
    const url = new URL(database.stack.databaseUrl);
    change(url);
    const error: unknown = await migrate(url.href).catch((thrown: unknown) => thrown);
    expect((error as Error).message).toMatch(message);
    expect(String(error)).not.toContain(url.password);
  },
);
