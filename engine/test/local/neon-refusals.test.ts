import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalNeon, startNeon } from '../../cli/local/neon/endpoint.ts';
import { useDatabase } from '../database.ts';
import { connectionString, type RawRequest, rawRequest } from './raw-request.ts';

const database = useDatabase();
/** An endpoint with small limits, on the same Postgres. */
const MAX_BYTES = 1000;
let small: LocalNeon;

beforeAll(async () => {
  small = await startNeon({ postgresPort: database.stack.postgres.port, maxBytes: MAX_BYTES });
  await database.sql(`create role "no login" nologin password 'secret'`);
  await database.sql(`create role percent login password '100%'`);
  await database.sql('create table written (id int)');
});
afterAll(() => small?.close());

async function answer(changes: RawRequest): Promise<{ status: number; body: object }> {
  const response = await rawRequest(database, { body: '{"query":"select 1"}', ...changes });
  return { status: response.status, body: (await response.json()) as object };
}

const withUrl = (change: (url: URL) => unknown) => () => ({
  headers: { 'neon-connection-string': connectionString(database, change) },
});

const KEYS =
  'message,code,detail,hint,position,internalPosition,internalQuery,severity,where,table,column,schema,dataType,' +
  'constraint,file,line,routine';

it.each<[what: string, request: () => RawRequest, status: number, error: object]>([
  ['a statement that fails', () => ({ body: '{"query":"select 1/0"}' }), 400, { code: '22012' }],
  [
    'a wrong password',
    withUrl((url) => (url.password = 'wrong')),
    400,
    { code: '', message: "password authentication failed for user 'claimcheck'" },
  ],
  ['an unknown role', withUrl((url) => (url.username = 'unknown')), 400, { code: '' }],
  ['no password', withUrl((url) => (url.password = '')), 400, { code: '', message: 'invalid connection string' }],
  ['no role', withUrl((url) => (url.username = '')), 400, { code: '', message: 'invalid connection string' }],
  ['an unknown database', withUrl((url) => (url.pathname = '/unknown')), 400, { code: '3D000' }],
  [
    'a role without login',
    withUrl((url) => Object.assign(url, { username: 'no login', password: 'secret' })),
    500,
    { code: '28000', severity: 'FATAL' },
  ],
  [
    'more parameters than the proxy can send',
    () => ({ body: JSON.stringify({ query: 'select 1', params: Array.from({ length: 32_768 }, () => '1') }) }),
    400,
    { code: '', message: 'error encoding message to server: value too large to transmit' },
  ],
  [
    'a body over the limit',
    () => ({ body: 'x'.repeat(MAX_BYTES + 1), port: small.port }),
    413,
    { code: '', message: `request is too large (max is ${MAX_BYTES} bytes)` },
  ],
  [
    'an answer over the limit, which counts bytes and not characters',
    () => ({ body: JSON.stringify({ query: `select repeat('é', 600)` }), port: small.port }),
    507,
    { code: '', message: `response is too large (max is ${MAX_BYTES} bytes)` },
  ],
  ...[{ path: '/other' }, { path: '/sql/' }, { method: 'PUT' }].map(
    (change): [string, () => RawRequest, number, object] => [
      `what is not a POST for /sql (${Object.values(change)})`,
      () => change,
      400,
      { message: 'query is not supported' },
    ],
  ),
  ...[
    'not JSON',
    '{}',
    '[]',
    '{"query":"select 1","params":{"0":1}}',
    '{"query":"select 1","params":null}',
    // Half a surrogate pair.
    '{"query":"select $1::text","params":["\\ud83d"]}',
    '{"query":"select $1::text","params":[1]}',
  ].map((body): [string, () => RawRequest, number, object] => [
    `the body ${body}`,
    () => ({ body }),
    400,
    { code: '', message: expect.stringMatching(/^could not parse the HTTP request body: ./) },
  ]),
])('%s is refused, with every key of an error', async (_what, request, status, error) => {
  const refused = await answer(request());
  expect(refused).toMatchObject({ status, body: error });
  expect(Object.keys(refused.body).toSorted()).toEqual(KEYS.split(',').toSorted());
});

it('a bare percent sign in a password is read as it is', async () => {
  const changed = withUrl((url) => Object.assign(url, { username: 'percent', password: '100%' }))();
  expect(changed.headers['neon-connection-string']).toContain(':100%@');
  expect(await answer(changed)).toMatchObject({ status: 200 });
});

it('a whole surrogate pair is accepted', async () => {
  const { body } = await answer({ body: '{"query":"select $1::text","params":["\\ud83d\\ude00"]}' });
  expect(body).toMatchObject({ rows: [['😀']] });
});

it('a body over the limit gets its answer even if its sender closes the connection and is slow', async () => {
  const headers = { 'neon-connection-string': database.stack.databaseUrl, connection: 'close' };
  const sent = request({ port: small.port, host: '127.0.0.1', path: '/sql', method: 'POST', headers });
  const answered = once(sent, 'response');
  for (let piece = 0; piece < 50; piece++) {
    sent.write('x'.repeat(100_000));
    await sleep(1);
  }
  sent.end();
  const [response] = await answered;
  expect(response.statusCode).toBe(413);
  response.resume();
});

it('an answer over the limit is counted over all results of a batch, which is rolled back', async () => {
  const half = { query: `select repeat('x', 600)` };
  const body = JSON.stringify({ queries: [{ query: 'insert into written values (1)' }, half, half] });
  expect(await answer({ body, port: small.port })).toMatchObject({ status: 507 });
  expect(await database.sql('select * from written')).toEqual([]);
});
