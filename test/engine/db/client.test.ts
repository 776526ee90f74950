import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { endpointOf, run } from '../../../src/db/client.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();

it.each([
  ['a text', 'it\'s "quoted", \\ and {braced}', 'text', 'it\'s "quoted", \\ and {braced}'],
  ['nothing', null, 'text', null],
  ['a number', 1.5, 'float8', 1.5],
  ['a truth value', true, 'bool', true],
  ['a false one', false, 'bool', false],
  ['a time', new Date('2026-03-01T12:00:00.123Z'), 'timestamptz', '2026-03-01 12:00:00.123+00'],
  ['bytes', Uint8Array.of(0, 255, 16), 'bytea', '\\x00ff10'],
  ['JSON', { a: ['"', '\\'] }, 'jsonb', { a: ['"', '\\'] }],
  ['JSON that is kept as written', { a: 1 }, 'json', { a: 1 }],
  ['a list of integers', [1, -2], 'int[]', [1, -2]],
])('%s reaches Postgres and comes back', async (_what, value, type, expected) => {
  const rows = await run(database.db, sql`select ${sql.param(value)}::${sql.raw(type)} as value`);
  expect(rows).toEqual([{ value: expected }]);
});

it('each item of a list reaches Postgres as it is', async () => {
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

it('a host of Neon is reached by the name of its HTTP interface, and only loopback without TLS', () => {
  expect(endpointOf('ep-cool-1.eu-central-1.aws.neon.tech', '')).toBe('https://api.eu-central-1.aws.neon.tech/sql');
  expect(endpointOf('127.0.0.1', '5432')).toBe('http://127.0.0.1:5432/sql');
});
