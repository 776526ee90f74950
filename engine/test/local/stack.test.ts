import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { freePort, listen } from '../../cli/lib/port.ts';
import { type Stack, startStack } from '../../cli/local/stack.ts';
import { WAIT } from '../running.ts';

const stacks: Stack[] = [];
let dataDir: string;

async function start(port: number, options: { fresh?: boolean; password?: string } = {}): Promise<Stack> {
  const databaseUrl = `postgres://claimcheck:${options.password ?? 'secret'}@127.0.0.1:${port}/claimcheck`;
  const stack = await startStack({ dataDir, databaseUrl, fresh: options.fresh ?? false });
  stacks.push(stack);
  return stack;
}

async function ask(url: string, query: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

beforeEach(async () => {
  dataDir = join(await mkdtemp(join(tmpdir(), 'claimcheck-test-')), 'postgres');
});

afterEach(async () => {
  const started = stacks.splice(0);
  for (const { stop } of started) await stop();
  for (const { postgres } of started) await rm(postgres.dataDir, { recursive: true, force: true });
  await rm(join(dataDir, '..'), { recursive: true, force: true });
});

it('data is kept for the next start, no other server takes or deletes it meanwhile, and running statements end before Postgres does', async () => {
  const port = await freePort();
  const first = await start(port);
  await ask(first.databaseUrl, `create table notes as select 'kept' as note`);
  for (const fresh of [false, true]) {
    await expect(start(await freePort(), { fresh })).rejects.toThrow(
      /belongs to a running server: stop process \d+( \(.+\))? first$/,
    );
  }
  const headers = { 'neon-connection-string': first.databaseUrl };
  const body = JSON.stringify({ query: `select pg_sleep(3600), 'over HTTP'` });
  void fetch(`http://127.0.0.1:${port}/sql`, { method: 'POST', headers, body }).catch(() => {});
  const direct = new URL(first.databaseUrl);
  direct.port = String(first.postgres.port);
  const running = () =>
    ask(direct.href, `select query from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'`);
  await vi.waitFor(async () => expect(await running()).toHaveLength(1), WAIT);
  const stopPostgres = first.postgres.stop;
  const atTheEnd: unknown[] = [];
  vi.spyOn(first.postgres, 'stop').mockImplementation(async () => {
    atTheEnd.push(await running());
    await stopPostgres();
  });
  await first.stop();
  expect(atTheEnd).toEqual([[]]);

  const server = createServer();
  await listen(server, port);
  await expect(start(port)).rejects.toThrow(
    /^port \d+ is in use .*: choose another in the DATABASE_URL of \.dev\.vars$/,
  );
  await new Promise((resolve) => server.close(resolve));
  await expect(start(port, { password: 'other' })).rejects.toThrow(/--fresh/);
  const second = await start(port);
  expect(await ask(second.databaseUrl, 'select note from notes')).toEqual([{ note: 'kept' }]);
  await second.stop();
  const third = await start(port, { fresh: true });
  expect(await ask(third.databaseUrl, `select to_regclass('notes') as notes`)).toEqual([{ notes: null }]);
});
