import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DrizzleSnapshotJSON, generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../../scripts/local/migrations.ts';
import { createWorkerRoles } from '../../../scripts/local/worker-roles.ts';
import * as schema from '../../../src/db/schema.ts';
import { createFixtureTables } from '../fixture/database.ts';
import { charge, expectChargedOnce } from './charges.ts';
import { PREVIOUS, useCloud } from './cloud.ts';
import { report } from './form.ts';
import type { Workerd } from './workerd.ts';

/** About 40 deliveries per second: what waits must wait for a lock, and not for a busy machine. */
const SENDERS = 4;
const PAUSE_MS = 100;

const cloud = useCloud();
let url: string;
let client: pg.Client;
let previous: Workerd;

/** A database as the previous release has made it, beside that of today. Its Workers work as the owner of the tables. */
beforeAll(async () => {
  const server = new pg.Client({ connectionString: cloud.stack.databaseUrl });
  await server.connect();
  await server.query('create database previous');
  await server.end();
  url = new URL('/previous', cloud.stack.databaseUrl).href;
  client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of await generateMigration(generateDrizzleJson({}), previousTables()))
    await client.query(statement);
  await createFixtureTables(url);
  previous = await cloud.start({ ...PREVIOUS, databaseUrls: { receiver: url, consumer: url } });
});
afterAll(() => client?.end());

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
      const delivery = await cloud.sign('stripe', charge(n));
      const started = performance.now();
      const receiver = workers[n % workers.length] ?? previous;
      const { status } = await fetch(`${receiver.url}webhooks/stripe`, { method: 'POST', ...delivery });
      slowest = Math.max(slowest, performance.now() - started);
      if (status !== 200) failed++;
      await pause(PAUSE_MS);
    }
  };
  const senders = Array.from({ length: SENDERS }, sender);

  // A transaction that reads the ledger for a while, like a backup. What alters the table has to wait for it.
  await client.query('begin');
  await client.query('select count(*) from webhook_events');
  const migrating = inFolder(await additive(), async (folder) => void (await migrate(url, folder)));
  await pause(4000);
  const beforeMigration = sent;
  await client.query('commit');
  await migrating;
  await client.query(
    'create index concurrently release_marks on webhook_events (release_mark) where release_mark is null',
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

/** What `npm run db:generate` would write after an update of the template, and a column with a default, as a later release may add. */
async function additive(): Promise<string[]> {
  const update = await generateMigration(previousTables(), generateDrizzleJson(schema, previousTables().id));
  return [...update, `alter table webhook_events add column release_mark text default 'none'`];
}

function previousTables(): DrizzleSnapshotJSON {
  return JSON.parse(readFileSync('test/engine/faults/previous/schema.json', 'utf8'));
}

/** A folder of migrations, as drizzle-kit writes it. */
async function inFolder(statements: readonly string[], work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  try {
    mkdirSync(join(folder, 'meta'));
    const entries = [{ idx: 0, version: '7', when: 1, tag: '0000_next', breakpoints: true }];
    writeFileSync(join(folder, 'meta/_journal.json'), JSON.stringify({ version: '7', dialect: 'postgresql', entries }));
    writeFileSync(join(folder, '0000_next.sql'), statements.join('--> statement-breakpoint\n'));
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
