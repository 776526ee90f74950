import { neon } from '@neondatabase/serverless';
import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNeon } from '../../../scripts/local/neon.ts';
// Points the driver at loopback hosts, as in the Workers.
import '../../../src/db/client.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const sql = (options = {}) => neon(database.stack.databaseUrl, options);
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as Record<string, unknown>,
  );

/** As the driver sends it, but for one thing. */
function raw(body: string, headers: Record<string, string> = {}, path = '/sql', method = 'POST') {
  const origin = `http://127.0.0.1:${database.stack.neon.port}`;
  const url = database.stack.databaseUrl;
  const all = { 'neon-connection-string': url, 'neon-raw-text-output': 'true', 'neon-array-mode': 'true', ...headers };
  return fetch(`${origin}${path}`, { method, headers: all, ...(method === 'POST' ? { body } : {}) });
}

beforeAll(() => database.sql('create table things (id int primary key, name text unique)'));
beforeEach(() => database.sql('truncate things'));

describe('a single query', () => {
  it('answers with text, nulls, and the full metadata of its fields', async () => {
    await database.sql(`insert into things values (1, null)`);
    const response = await raw(JSON.stringify({ query: 'select id, name from things where id = $1', params: ['1'] }));
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
    expect(response.headers.get('neon-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('answers a statement without rows with none', async () => {
    const response = await raw(JSON.stringify({ query: 'create temp table gone (a int)' }));
    expect(await response.json()).toMatchObject({ fields: [], rows: [], command: 'CREATE', rowCount: null });
  });

  it('gives the driver the types it knows', async () => {
    const rows =
      await sql()`select 1 as a, true as b, null as c, '{"x":1}'::jsonb as d, array[1,2] as e, 9007199254740993 as f`;
    expect(rows).toEqual([{ a: 1, b: true, c: null, d: { x: 1 }, e: [1, 2], f: '9007199254740993' }]);
  });

  it('refuses several statements in one string, as the extended protocol does', async () => {
    expect(await errorOf(sql().query('select 1; select 2'))).toMatchObject({ code: '42601' });
  });

  it('refuses a wrong number of parameters', async () => {
    expect(await errorOf(sql().query('select $1::int, $2::int', [1]))).toMatchObject({ code: '08P01' });
  });

  it('counts what on conflict let through', async () => {
    const client = neon(database.stack.databaseUrl, { fullResults: true });
    const insert = () => client`insert into things values (1, 'a') on conflict do nothing returning id`;
    expect((await insert()).rowCount).toBe(1);
    expect((await insert()).rowCount).toBe(0);
  });
});

describe('parameters in JSON', () => {
  it.each([
    [1.5, '1.5'],
    [true, 'true'],
    [null, null],
    ['text', 'text'],
    [{ a: 1 }, '{"a":1}'],
    [['a', 'b"c', null, 1], '{a,"b\\"c",NULL,1}'],
    [[['a'], ['b']], '{{a},{b}}'],
    [[{ a: 1 }], '{"{\\"a\\":1}"}'],
  ])('%j becomes the text %j', async (param, text) => {
    const cast = Array.isArray(param) ? 'text[]' : 'text';
    const response = await raw(JSON.stringify({ query: `select ($1::${cast})::text`, params: [param] }));
    expect(((await response.json()) as { rows: unknown[][] }).rows).toEqual([[text]]);
  });
});

describe('a batch', () => {
  it('is one transaction, and answers with one result for each statement', async () => {
    const client = sql();
    const results = await client.transaction([
      client`insert into things values (1, 'a')`,
      client`select name from things`,
    ]);
    expect(results).toEqual([[], [{ name: 'a' }]]);
  });

  it('that fails leaves nothing, and says what broke', async () => {
    const client = sql();
    const insert = (id: number) => client`insert into things values (${id}, 'same')`;
    const error = await errorOf(client.transaction([insert(1), insert(2)]));
    expect(error).toMatchObject({ code: '23505', constraint: 'things_name_key', table: 'things' });
    expect(await database.sql('select * from things')).toEqual([]);
  });

  it('that is empty answers with nothing', async () => {
    expect(await (await raw('{"queries":[]}')).json()).toEqual({ results: [] });
  });

  it('runs at the isolation it asks for', async () => {
    const client = sql({ isolationLevel: 'Serializable', readOnly: true, deferrable: true, fullResults: false });
    const results = (await client.transaction([
      client`
      select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as ro,
             current_setting('transaction_deferrable') as deferrable`,
    ])) as Record<string, unknown>[][];
    expect(results[0]?.[0]).toEqual({ isolation: 'serializable', ro: 'on', deferrable: 'on' });
  });

  it('that is read-only refuses to write', async () => {
    const client = sql({ readOnly: true });
    expect(await errorOf(client.transaction([client`insert into things values (1, 'a')`]))).toMatchObject({
      code: '25006',
    });
  });

  it('fails at commit where a deferred constraint says so', async () => {
    await database.sql('create table deferred (id int unique deferrable initially deferred)');
    const client = sql();
    const twice = client.transaction([
      client`insert into deferred values (1)`,
      client`insert into deferred values (1)`,
    ]);
    expect(await errorOf(twice)).toMatchObject({ code: '23505' });
  });
});

describe('a session', () => {
  it('leaves nothing to the next request', async () => {
    await sql()`select set_config('statement_timeout', '7s', false)`;
    await sql().query('create temp table left_over (a int)');
    for (let request = 0; request < 5; request++) {
      expect(await sql()`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
      expect(await sql()`select to_regclass('left_over')::text as name`).toEqual([{ name: null }]);
    }
  });

  it('is cancelled when nobody waits for it any more', async () => {
    const client = sql({ fetchOptions: { signal: AbortSignal.timeout(100) } });
    expect(await errorOf(client`select pg_sleep(60), 'cancel me'`)).toBeDefined();
    const running = `select count(*)::int as count from pg_stat_activity where query like '%cancel me%' and pid <> pg_backend_pid() and state = 'active'`;
    await expect
      .poll(async () => (await database.sql<{ count: number }>(running))[0]?.count, { timeout: 5000 })
      .toBe(0);
  });
});

describe('an error', () => {
  const keys = [
    'message',
    'code',
    'detail',
    'hint',
    'position',
    'internalPosition',
    'internalQuery',
    'severity',
    'where',
    'table',
    'column',
    'schema',
    'dataType',
    'constraint',
    'file',
    'line',
    'routine',
  ];

  const cases: [string, object, Record<string, string>][] = [
    ['of Postgres', { query: 'select 1/0' }, {}],
    ['of the proxy', { query: 'select 1' }, { 'neon-connection-string': 'postgres://nobody:x@127.0.0.1/claimcheck' }],
  ];
  it.each(cases)('%s has every key', async (_of, body, headers) => {
    const response = await raw(JSON.stringify(body), headers);
    expect(response.status).toBe(400);
    expect(Object.keys((await response.json()) as object).toSorted()).toEqual(keys.toSorted());
  });

  it('of authentication has Neon’s words and an empty code', async () => {
    const url = new URL(database.stack.databaseUrl);
    url.password = 'wrong';
    const error = await errorOf(neon(url.href)`select 1`);
    expect(error).toMatchObject({ code: '', message: `password authentication failed for user 'claimcheck'` });
  });

  it('says that a request or an answer is too large', async () => {
    const small = await startNeon({ postgresPort: database.stack.postgres.port, maxBytes: 1000 });
    try {
      const url = new URL(database.stack.databaseUrl);
      url.port = String(small.port);
      const client = neon(url.href);
      const [request, answer] = [
        await errorOf(client`select ${'x'.repeat(2000)}`),
        await errorOf(client`select repeat('x', 2000)`),
      ];
      expect(request?.message).toContain('HTTP status 413');
      expect(request?.message).toContain('request is too large (max is 1000 bytes)');
      expect(answer?.message).toContain('HTTP status 507');
    } finally {
      await small.close();
    }
  });

  it('is the answer to everything but POST /sql', async () => {
    for (const response of [await raw('{}', {}, '/other'), await raw('', {}, '/sql', 'GET')]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ message: 'query is not supported' });
    }
    expect((await raw('', {}, '/sql', 'OPTIONS')).status).toBe(204);
    expect((await raw('not JSON')).status).toBe(400);
  });
});

it('parameters of the connection string that Neon doesn’t pass on are ignored', async () => {
  const url = `${database.stack.databaseUrl}?sslmode=require&options=-c%20statement_timeout%3D1`;
  expect(await neon(url)`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
});

it('the same port speaks PostgreSQL’s own protocol', async () => {
  const client = new pg.Client({ connectionString: database.stack.databaseUrl });
  await client.connect();
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await client.end();
});

it('twenty concurrent claims of a row have one winner and no error', async () => {
  const claims = await Promise.all(
    Array.from({ length: 20 }, () => sql()`insert into things values (1, 'a') on conflict do nothing returning id`),
  );
  expect(claims.filter((rows) => rows.length === 1)).toHaveLength(1);
});
