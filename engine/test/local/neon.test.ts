import { neon } from '@neondatabase/serverless';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
// Points the driver at loopback hosts, as in the Workers.
import '../../src/db/user-statement.ts';
import { useDatabase } from '../database.ts';
import { connectionString, rawRequest } from './raw-request.ts';

const database = useDatabase();
const sql = (options = {}) => neon(database.stack.databaseUrl, options);
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as Record<string, unknown>,
  );
const ask = async (body: string) => (await rawRequest(database, { body })).json();

beforeAll(() => database.sql('create table things (id int primary key, name text unique)'));
beforeEach(() => database.sql('delete from things'));

describe('a single query', () => {
  it('is answered with text, nulls, and the full metadata of its fields', async () => {
    await database.sql(`insert into things values (1, null)`);
    const body = JSON.stringify({ query: 'select id, name from things where id = $1', params: ['1'] });
    const response = await rawRequest(database, { body });
    expect(await response.json()).toEqual({
      fields: [
        {
          name: 'id',
          dataTypeID: 23,
          tableID: expect.any(Number),
          columnID: 1,
          dataTypeSize: 4,
          dataTypeModifier: -1,
          format: 'text',
        },
        {
          name: 'name',
          dataTypeID: 25,
          tableID: expect.any(Number),
          columnID: 2,
          dataTypeSize: -1,
          dataTypeModifier: -1,
          format: 'text',
        },
      ],
      rows: [['1', null]],
      command: 'SELECT',
      rowCount: 1,
      rowAsArray: true,
    });
  });

  it.each([
    ['that returns no rows', 'create temp table gone (a int)', 'CREATE'],
    ['that is empty', '', ''],
  ])('%s is answered with the command that Postgres names and no row count', async (_which, query, command) => {
    expect(await ask(JSON.stringify({ query }))).toMatchObject({ fields: [], rows: [], command, rowCount: null });
  });

  it('gives the driver the types it knows', async () => {
    const rows =
      await sql()`select 1 as a, true as b, null as c, '{"x":1}'::jsonb as d, array[1,2] as e, 9007199254740993 as f`;
    expect(rows).toEqual([{ a: 1, b: true, c: null, d: { x: 1 }, e: [1, 2], f: '9007199254740993' }]);
  });

  it('with several statements in one string is refused, as the extended protocol does', async () => {
    expect(await errorOf(sql().query('select 1; select 2'))).toMatchObject({ code: '42601' });
  });

  it('with a wrong number of parameters is refused', async () => {
    expect(await errorOf(sql().query('select $1::int, $2::int', [1]))).toMatchObject({ code: '08P01' });
  });

  it('with on conflict counts only the rows that it has written', async () => {
    const client = neon(database.stack.databaseUrl, { fullResults: true });
    const insert = () => client`insert into things values (1, 'a') on conflict do nothing returning id`;
    expect((await insert()).rowCount).toBe(1);
    expect((await insert()).rowCount).toBe(0);
  });

  it.each(['from stdin', 'to stdout'])('that is a COPY %s fails, and leaves Postgres usable', async (direction) => {
    expect(await ask(JSON.stringify({ query: `copy things ${direction}` }))).toMatchObject({
      code: '',
      message: 'unexpected message from server',
    });
    expect(await sql()`select 1 as one`).toEqual([{ one: 1 }]);
  });
});

describe('a batch', () => {
  it('is one transaction, and is answered with one result for each statement', async () => {
    const client = sql();
    const results = await client.transaction([
      client`insert into things values (1, 'a')`,
      client`select name from things`,
    ]);
    expect(results).toEqual([[], [{ name: 'a' }]]);
  });

  it('that fails writes nothing, and its error names what broke', async () => {
    const client = sql();
    const insert = (id: number) => client`insert into things values (${id}, 'same')`;
    const error = await errorOf(client.transaction([insert(1), insert(2)]));
    expect(error).toMatchObject({ code: '23505', constraint: 'things_name_key', table: 'things' });
    expect(await database.sql('select * from things')).toEqual([]);
  });

  it('without statements is answered without results', async () => {
    expect(await ask('{"queries":[]}')).toEqual({ results: [] });
  });

  it('that is read-only refuses to write', async () => {
    const client = sql({ readOnly: true });
    expect(await errorOf(client.transaction([client`insert into things values (1, 'a')`]))).toMatchObject({
      code: '25006',
    });
  });

  it('fails at commit if a deferred constraint is broken', async () => {
    await database.sql('create table deferred (id int unique deferrable initially deferred)');
    const client = sql();
    const twice = client.transaction([
      client`insert into deferred values (1)`,
      client`insert into deferred values (1)`,
    ]);
    expect(await errorOf(twice)).toMatchObject({ code: '23505' });
  });
});

it('nothing of a session reaches the next request', async () => {
  await sql()`select set_config('statement_timeout', '7s', false)`;
  await sql().query('create temp table left_over (a int)');
  for (let request = 0; request < 5; request++) {
    expect(await sql()`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
    expect(await sql()`select to_regclass('left_over')::text as name`).toEqual([{ name: null }]);
  }
});

it('parameters of the connection string that Neon does not pass on are ignored', async () => {
  const url = `${database.stack.databaseUrl}?sslmode=require&options=-c%20statement_timeout%3D1`;
  expect(await neon(url)`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
});

it('a connection string without a database means the database with the name of the role, as in Postgres', async () => {
  const headers = { 'neon-connection-string': connectionString(database, (url) => (url.pathname = '/')) };
  const response = await rawRequest(database, { body: '{"query":"select current_database()"}', headers });
  expect(await response.json()).toMatchObject({ rows: [['claimcheck']] });
});
