// A program: `node bench/neon.ts <port of Postgres> <role> <password> <database> <added latency in ms>`.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { toText } from '../scripts/local/neon-json.ts';
import { LOOPBACK, listen } from '../scripts/local/port.ts';

// Neon's SQL over HTTP, with as little work per request as possible. Workers and Postgres get the same messages as from the
// stand-in in scripts/local/neon.ts: unnamed statements of the extended protocol, so that every statement is planned anew.
// It has no limits, no faults, no cancelled requests, only one role, and doesn't reset a session after each request.

/** Neon's proxy keeps 20 connections for an endpoint. */
const CONNECTIONS = 20;

interface Query {
  readonly query: string;
  readonly params?: unknown[];
}

const [port, user, password, database, latency] = process.argv.slice(2);
const settings = { latencyMs: Number(latency) };
/** What has been asked since the last time somebody wanted to know. */
const asked = { requests: 0, statements: 0 };

const pool = new pg.Pool({
  host: LOOPBACK,
  port: Number(port),
  user: user ?? '',
  password: password ?? '',
  database: database ?? '',
  max: CONNECTIONS,
  types: { getTypeParser: () => (value: string) => value },
});
pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));

const server = createServer({ keepAlive: true }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => void answer(request, Buffer.concat(chunks).toString(), response));
});
// A Worker's connection must not be closed while it waits for the next request.
server.keepAliveTimeout = 600_000;
const own = await listen(server, 0);

process.on('message', (message: Partial<typeof settings> | 'counts') => {
  if (message === 'counts') {
    process.send?.({ ...asked });
    Object.assign(asked, { requests: 0, statements: 0 });
  } else {
    Object.assign(settings, message);
    process.send?.('set');
  }
});
process.send?.(own);

async function answer({ headers }: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
  if (settings.latencyMs > 0) await sleep(settings.latencyMs);
  const body: Query | { queries: Query[] } = JSON.parse(text);
  const client = await pool.connect();
  asked.requests++;
  let status = 200;
  let answered: unknown;
  try {
    answered = 'queries' in body ? { results: await batch(client, body.queries, headers) } : await run(client, body);
  } catch (error) {
    const { message, code, constraint, severity } = error as pg.DatabaseError;
    status = 400;
    answered = { message, code: code ?? '', constraint: constraint ?? null, severity: severity ?? null };
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
  client.release();
}

async function batch(client: pg.PoolClient, queries: readonly Query[], headers: IncomingMessage['headers']) {
  const isReadOnly = headers['neon-batch-read-only'] === 'true';
  await client.query(`START TRANSACTION${isReadOnly ? ' READ ONLY' : ''}`);
  try {
    const results: object[] = [];
    for (const query of queries) results.push(await run(client, query));
    await client.query('COMMIT');
    return results;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function run(client: pg.PoolClient, { query, params = [] }: Query): Promise<object> {
  asked.statements++;
  const config: pg.QueryArrayConfig & { queryMode: 'extended' } = {
    text: query,
    values: params.map(toText),
    rowMode: 'array',
    queryMode: 'extended',
  };
  const { fields, rows, command, rowCount } = await client.query(config);
  const described = fields.map(({ name, dataTypeID, tableID, columnID, dataTypeSize, dataTypeModifier }) => ({
    name,
    dataTypeID,
    tableID,
    columnID,
    dataTypeSize,
    dataTypeModifier,
    format: 'text',
  }));
  return { fields: described, rows, command, rowCount, rowAsArray: true };
}
