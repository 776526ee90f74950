import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../cli/database/connect.ts';
import { migrate } from '../../cli/database/migrations.ts';
import { createWorkerRoles } from '../../cli/database/worker-roles.ts';
import { createDatabase } from '../../cli/local/stack.ts';
import { createFixtureTables } from '../fixture/database.ts';
import { charge, expectChargedOnce } from './charges.ts';
import { PREVIOUS, PREVIOUS_MIGRATIONS, useCloud, type Workerd } from './cloud.ts';
import { report } from './form.ts';

/** About 40 deliveries per second: what waits must wait for a lock, and not for a busy machine. */
const SENDERS = 4;
const PAUSE_MS = 100;

const cloud = useCloud();
const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
let url: string;
let client: pg.Client;
let previous: Workerd;

/** A database as the previous release has made it, beside that of today. Its Workers work as the owner of the tables. */
beforeAll(async () => {
  url = new URL('/previous', cloud.stack.databaseUrl).href;
  await createDatabase(new URL(url), 'previous');
  client = await connect(url);
  await migrate(url, { engine: PREVIOUS_MIGRATIONS, app: 'drizzle' });
  await createFixtureTables(url);
  previous = await cloud.start({ ...PREVIOUS, databaseUrls: { receiver: url, consumer: url } });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await client?.end();
});

it("under load, the previous release's tables are migrated to today's and beyond, no delivery fails, and both releases work on", async () => {
  let workers = [previous];
  let batches = 0;
  cloud.queues.consume = (...batch) => (workers[batches++ % workers.length] ?? previous).consume(...batch);

  let sent = 0;
  let failed = 0;
  let slowest = 0;
  let loading = true;
  const sender = async () => {
    while (loading) {
      const n = sent++;
      const started = performance.now();
      const { status } = await (workers[n % workers.length] ?? previous).deliver('stripe', charge(n));
      slowest = Math.max(slowest, performance.now() - started);
      if (status !== 200) failed++;
      await pause(PAUSE_MS);
    }
  };
  const senders = Array.from({ length: SENDERS }, sender);

  // A transaction that reads the ledger for a while, like a backup. What alters the table has to wait for it.
  await client.query('begin');
  await client.query('select count(*) from webhooks.events');
  const migrating = migrate(url, { engine: nextRelease(), app: 'drizzle' });
  await pause(4000);
  const beforeMigration = sent;
  await client.query('commit');
  await migrating;
  await client.query(
    'create index concurrently release_marks on webhooks.events (release_mark) where release_mark is null',
  );
  // Rolled back, or not yet deployed: the previous Workers alone, on the new tables. Then both beside each other.
  await pause(1000);
  const afterMigration = sent;
  const { receiver = '', consumer = '' } = (await createWorkerRoles(url, { rotate: [] })).urls;
  workers = [previous, await cloud.start({ databaseUrls: { receiver, consumer } })];
  await pause(1000);
  loading = false;
  await Promise.all(senders);

  expect(beforeMigration).toBeGreaterThan(0);
  expect(sent).toBeGreaterThan(afterMigration);
  expect(failed).toBe(0);
  // A claim that waits for a lock longer than its time limit is forwarded: behind the migration, that would be each
  // sender's, and more than once.
  expect(cloud.queues.forwarded).toBeLessThan(SENDERS);
  const sql = async <Row extends object>(query: string) => (await client.query<Row>(query)).rows;
  await expectChargedOnce(sent, { sql, queues: cloud.queues, outside: cloud.stack.outside });
  report('migration under load', {
    deliveries: sent,
    'answered other than 200': 0,
    'slowest answer (ms)': Math.round(slowest),
    forwarded: cloud.queues.forwarded,
    lost: 0,
    doubled: 0,
  });
});

/** The migrations of a later release: today's, and a column with a default. */
function nextRelease(): string {
  cpSync('engine/drizzle', folder, { recursive: true });
  const path = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(path, 'utf8'));
  const last = journal.entries.at(-1);
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1, tag: 'next' });
  writeFileSync(path, JSON.stringify(journal));
  writeFileSync(join(folder, 'next.sql'), `alter table webhooks.events add column release_mark text default 'none'`);
  return folder;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
