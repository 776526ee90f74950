import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { startNeon } from '../../cli/local/neon/endpoint.ts';
import { useDatabase } from '../database.ts';
import { connectionString, type RawRequest, rawRequest } from './raw-request.ts';

const database = useDatabase({ own: true });

beforeAll(() => database.sql('create table written (id int)'));
beforeEach(() => database.sql('delete from written'));

const bodyOf = (query: string) => JSON.stringify({ query });

/** How many statements with this mark Postgres runs right now. */
async function running(mark: string): Promise<number> {
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where query like $1 and state = 'active' and pid <> pg_backend_pid()`,
    [`%${mark}%`],
  );
  return row?.count ?? 0;
}

/** Less than the 60 s that the statements sleep. */
const waitFor = (mark: string, count: number) =>
  vi.waitFor(async () => expect(await running(mark)).toBe(count), { timeout: 30_000, interval: 20 });

/** A request that can hang up. */
function request(options: RawRequest) {
  const caller = new AbortController();
  const answered = rawRequest(database, { ...options, signal: caller.signal }).catch(() => undefined);
  return {
    async hangUp() {
      caller.abort();
      await answered;
    },
  };
}

/** While the postmaster is stopped, Postgres accepts no connection: neither a new one nor that of a cancel. */
async function withStoppedPostmaster(work: () => Promise<void>): Promise<void> {
  const [pid] = (await readFile(join(database.stack.postgres.dataDir, 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGSTOP');
  try {
    await work();
  } finally {
    process.kill(Number(pid), 'SIGCONT');
  }
}

it('a batch whose request hangs up is cancelled and writes nothing', async () => {
  const queries = [{ query: 'insert into written values (1)' }, { query: `select pg_sleep(60), 'batch'` }];
  const { hangUp } = request({ body: JSON.stringify({ queries }) });
  await waitFor('batch', 1);
  await hangUp();
  await waitFor('batch', 0);
  expect(await database.sql('select * from written')).toEqual([]);
});

it('a cancel that comes before its statement is repeated', async () => {
  await rawRequest(database, { body: bodyOf('select 1') });
  const idle = await database.sql<{ pid: number }>(
    `select pid from pg_stat_activity where query like '%DISCARD SEQUENCES%' and state = 'idle'`,
  );
  // A stopped process gets the cancel's signal first when it continues, and reads the statement after it.
  for (const { pid } of idle) process.kill(pid, 'SIGSTOP');
  const { hangUp } = request({ body: bodyOf(`select pg_sleep(60), 'repeated'`) });
  await sleep(100);
  await hangUp();
  await sleep(100);
  for (const { pid } of idle) process.kill(pid, 'SIGCONT');
  await sleep(300);
  await waitFor('repeated', 0);
});

it('a cancel that comes after its statement disturbs no other request', async () => {
  const unrelated = () => rawRequest(database, { body: bodyOf('select pg_sleep(0.5)') });
  await unrelated();
  const { hangUp } = request({ body: bodyOf(`select pg_sleep(1), 'late'`) });
  await waitFor('late', 1);
  let next: Promise<Response> | undefined;
  await withStoppedPostmaster(async () => {
    await hangUp();
    await waitFor('late', 0);
    next = unrelated();
    await sleep(100);
  });
  expect((await next)?.status).toBe(200);
});

it('more requests than Neon keeps connections run side by side, and all of them can be cancelled', async () => {
  const many = Array.from({ length: 40 }, () => request({ body: bodyOf(`select pg_sleep(60), 'many'`) }));
  await waitFor('many', 40);
  await Promise.all(many.map(({ hangUp }) => hangUp()));
  await waitFor('many', 0);
});

it('twenty idle connections are kept at most', async () => {
  const body = bodyOf(`select pg_sleep(0.3), 'keep'`);
  await Promise.all(Array.from({ length: 30 }, () => rawRequest(database, { body })));
  // The others need a moment to close.
  await sleep(300);
  const idle = `select count(*)::int as count from pg_stat_activity
                where query like '%DISCARD SEQUENCES%' and state = 'idle'`;
  expect(await database.sql(idle)).toEqual([{ count: 20 }]);
});

it('a request for which Postgres has no connection left is answered with a 500 and the code 53300', async () => {
  await database.sql(`create role few login connection limit 2 password 'x'`);
  const change = (url: URL) => Object.assign(url, { username: 'few', password: 'x' });
  const headers = { 'neon-connection-string': connectionString(database, change) };
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const response = await rawRequest(database, { body: bodyOf('select pg_sleep(1)'), headers });
      const { code } = (await response.json()) as { code?: string };
      return `${response.status} ${code ?? 'ok'}`;
    }),
  );
  expect(answers.toSorted()).toEqual(['200 ok', '200 ok', '500 53300', '500 53300', '500 53300']);
});

it('a request that hangs up while it waits for a connection is not run', async () => {
  await database.sql(`create role waiting login password 'x'; grant insert on written to waiting`);
  const change = (url: URL) => Object.assign(url, { username: 'waiting', password: 'x' });
  await withStoppedPostmaster(async () => {
    const { hangUp } = request({
      body: bodyOf('insert into written values (1)'),
      headers: { 'neon-connection-string': connectionString(database, change) },
    });
    await sleep(100);
    await hangUp();
    await sleep(100);
  });
  await sleep(500);
  expect(await database.sql('select * from written')).toEqual([]);
});

it('a request that hangs up while the compute wakes up is not run', async () => {
  database.stack.neon.fault = () => ({ kind: 'slow', ms: 300 });
  const { hangUp } = request({ body: bodyOf('insert into written values (1)') });
  await sleep(50);
  await hangUp();
  database.stack.neon.fault = undefined;
  await sleep(600);
  expect(await database.sql('select * from written')).toEqual([]);
});

it('the endpoint cancels its statements before it closes', async () => {
  const endpoint = await startNeon({ postgresPort: database.stack.postgres.port });
  request({ body: bodyOf(`select pg_sleep(60), 'closing'`), port: endpoint.port });
  await waitFor('closing', 1);
  await endpoint.close();
  expect(await running('closing')).toBe(0);
});
