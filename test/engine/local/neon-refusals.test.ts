import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalNeon, startNeon } from '../../../scripts/local/neon/endpoint.ts';
import { useDatabase } from '../database.ts';
import { connectionString, type RawRequest, rawRequest } from './raw-request.ts';

const database = useDatabase();
/** An endpoint with small limits, on the same Postgres. */
const MAX_BYTES = 1000;
let small: LocalNeon;

beforeAll(async () => {
  small = await startNeon({ postgresPort: database.stack.postgres.port, maxBytes: MAX_BYTES });
  await database.sql(`create role "no login" nologin password 'secret'`);
  await database.sql('create table written (id int)');
});
afterAll(() => small?.close());

async function refusal(changes: RawRequest): Promise<{ status: number; body: unknown }> {
  const response = await rawRequest(database, { body: '{"query":"select 1"}', ...changes });
  return { status: response.status, body: await response.json() };
}

const withUrl = (change: (url: URL) => void) => ({
  headers: { 'neon-connection-string': connectionString(database, change) },
});

describe('an error', () => {
  const keys =
    'message,code,detail,hint,position,internalPosition,internalQuery,severity,where,table,column,schema,dataType,' +
    'constraint,file,line,routine';

  it.each([
    ['of Postgres', () => ({ body: '{"query":"select 1/0"}' })],
    ['of the proxy', () => withUrl((url) => (url.username = 'unknown'))],
  ])('%s has every key', async (_of, changes) => {
    const { status, body } = await refusal(changes());
    expect(status).toBe(400);
    expect(Object.keys(body as object).toSorted()).toEqual(keys.split(',').toSorted());
  });
});

describe('a connection string', () => {
  it('with a wrong password is refused with a 400 and an empty code', async () => {
    const message = "password authentication failed for user 'claimcheck'";
    const answer = await refusal(withUrl((url) => (url.password = 'wrong')));
    expect(answer).toMatchObject({ status: 400, body: { code: '', message } });
  });

  it.each<[string, (url: URL) => void]>([
    ['without a password', (url) => (url.password = '')],
    ['without a role', (url) => (url.username = '')],
  ])('%s is invalid', async (_which, change) => {
    const message = 'invalid connection string';
    expect(await refusal(withUrl(change))).toMatchObject({ status: 400, body: { code: '', message } });
  });

  it('that names an unknown database is refused with a 400 and the code of Postgres', async () => {
    const answer = await refusal(withUrl((url) => (url.pathname = '/unknown')));
    expect(answer).toMatchObject({ status: 400, body: { code: '3D000' } });
  });

  it('that names a role without login is refused with a 500 and the code of Postgres', async () => {
    const answer = await refusal(withUrl((url) => Object.assign(url, { username: 'no login', password: 'secret' })));
    expect(answer).toMatchObject({ status: 500, body: { code: '28000', severity: 'FATAL' } });
  });

  it('with a bare percent sign in its password is read as it is', async () => {
    await database.sql(`create role percent login password '100%'`);
    const url = connectionString(database, (url) => Object.assign(url, { username: 'percent', password: '100%' }));
    expect(url).toContain(':100%@');
    expect(await refusal({ headers: { 'neon-connection-string': url } })).toMatchObject({ status: 200 });
  });
});

describe('a body', () => {
  it.each([
    ['that is not JSON', 'not JSON'],
    ['that is an empty object', '{}'],
    ['that is an empty array', '[]'],
    ['whose params are not an array', '{"query":"select 1","params":{"0":1}}'],
    ['whose params are null', '{"query":"select 1","params":null}'],
    ['with half a surrogate pair in a parameter', '{"query":"select $1::text","params":["\\ud83d"]}'],
    ['with a parameter that is not a text', '{"query":"select $1::text","params":[1]}'],
  ])('%s is refused with a 400 and an empty code', async (_which, body) => {
    const message = expect.stringMatching(/^could not parse the HTTP request body: ./);
    expect(await refusal({ body })).toMatchObject({ status: 400, body: { code: '', message } });
  });

  it('with a whole surrogate pair is accepted', async () => {
    const { body } = await refusal({ body: '{"query":"select $1::text","params":["\\ud83d\\ude00"]}' });
    expect(body).toMatchObject({ rows: [['😀']] });
  });

  it('with more parameters than the proxy can send is refused', async () => {
    const body = JSON.stringify({ query: 'select 1', params: Array.from({ length: 32_768 }, () => '1') });
    const message = 'error encoding message to server: value too large to transmit';
    expect(await refusal({ body })).toMatchObject({ status: 400, body: { code: '', message } });
  });

  it('over the limit is answered with a 413', async () => {
    const message = `request is too large (max is ${MAX_BYTES} bytes)`;
    const answer = await refusal({ body: 'x'.repeat(MAX_BYTES + 1), port: small.port });
    expect(answer).toMatchObject({ status: 413, body: { code: '', message } });
  });

  it('over the limit gets its answer even if its sender closes the connection and is slow', async () => {
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
});

describe('an answer over the limit', () => {
  const large = { query: `select repeat('é', 600)` };

  it('is counted in bytes, not in characters', async () => {
    const message = `response is too large (max is ${MAX_BYTES} bytes)`;
    const answer = await refusal({ body: JSON.stringify(large), port: small.port });
    expect(answer).toMatchObject({ status: 507, body: { code: '', message } });
  });

  it('is counted over all results of a batch, which is rolled back', async () => {
    const half = { query: `select repeat('x', 600)` };
    const body = JSON.stringify({ queries: [{ query: 'insert into written values (1)' }, half, half] });
    expect(await refusal({ body, port: small.port })).toMatchObject({ status: 507 });
    expect(await database.sql('select * from written')).toEqual([]);
  });
});

it('a request that is not a POST for /sql is refused', async () => {
  for (const changes of [{ path: '/other' }, { path: '/sql/' }, { method: 'PUT' }]) {
    expect(await refusal(changes)).toMatchObject({ status: 400, body: { message: 'query is not supported' } });
  }
});
