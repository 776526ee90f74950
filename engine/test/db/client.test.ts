import { neonConfig } from '@neondatabase/serverless';
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { commit, run } from '../../src/db/client.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();

it.each([
  ['a text', 'it\'s "quoted", \\ and {braced}', 'text', 'it\'s "quoted", \\ and {braced}'],
  ['nothing', null, 'text', null],
  ['a number', 1.5, 'float8', 1.5],
  ['a truth value', true, 'bool', true],
  ['a false one', false, 'bool', false],
  ['a time', new Date('2026-03-01T12:00:00.123Z'), 'timestamptz', '2026-03-01 12:00:00.123+00'],
  ['bytes', Uint8Array.of(0, 255, 16), 'bytea', Buffer.of(0, 255, 16)],
  ['JSON', { a: ['"', '\\'] }, 'jsonb', { a: ['"', '\\'] }],
  ['JSON that is kept as written', { a: 1 }, 'json', { a: 1 }],
  ['a list of integers', [1, -2], 'int[]', [1, -2]],
])('%s reaches Postgres and comes back', async (_what, value, type, expected) => {
  const rows = await run(database.db, sql`select ${sql.param(value)}::${sql.raw(type)} as value`);
  expect(rows).toEqual([{ value: expected }]);
});

it('each item of a list reaches Postgres unchanged', async () => {
  const items = ['', 'NULL', null, 'a,b', '{"x"}', '\\', 'line\nbreak', 'line\n"break"\\', '\u007f', 'ü"'];
  const rows = await run(database.db, sql`select to_json(${sql.param(items)}::text[]) as items`);
  expect(rows).toEqual([{ items }]);
});

it('a list of lists reaches Postgres', async () => {
  const lists = [
    ['a', '"'],
    ['b', null],
  ];
  const rows = await run(database.db, sql`select to_json(${sql.param(lists)}::text[][]) as lists`);
  expect(rows).toEqual([{ lists }]);
});

it.each([
  ['ep-cool-1.eu-central-1.aws.neon.tech', '', 'https://api.eu-central-1.aws.neon.tech/sql'],
  ['127.0.0.1', '5432', 'http://127.0.0.1:5432/sql'],
  ['localhost', '5432', 'http://localhost:5432/sql'],
  ['localhost.example.com', '5432', 'https://api.example.com/sql'],
])('the host %s is reached at its HTTP interface, and only loopback without TLS', (host, port, url) => {
  const endpoint = neonConfig.fetchEndpoint as (host: string, port: string) => string;
  expect(endpoint(host, port)).toBe(url);
});

it('a time stays a text even after a handler has opened its handle', async () => {
  await database.readOnly.execute(sql`select now()`);
  expect(await run(database.db, sql`select ${'2026-03-01T12:00:00Z'}::timestamptz as time`)).toEqual([
    { time: '2026-03-01 12:00:00+00' },
  ]);
});

it('a commit does not fail because of returned rows', async () => {
  await commit(database.db, [sql`select '{not json'::text::bytea, 1 / 3.0`, sql`select null::jsonb`]);
});
