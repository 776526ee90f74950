// A program: `node bench/neon.ts <port of Postgres> <role> <password> <database>`. Its parent sends the delay of
// answers in ms.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { LOOPBACK, listen } from '../cli/lib/port.ts';
import { isReadOnly, NeonError, type NeonRequest } from '../cli/local/neon/request.ts';
import { Session } from '../cli/local/neon/session.ts';

// A Neon endpoint with as little work per request as possible. Workers and Postgres get the same messages as from
// engine/cli/local/neon: unnamed statements of the extended protocol, so that every statement is planned anew. It has
// no limits, faults or cancels, only one role, and doesn't reset sessions.

/** The number of connections that Neon's proxy keeps for an endpoint. */
const CONNECTIONS = 20;

const [port, user, password, database] = process.argv.slice(2);
let latencyMs = 0;

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

const never = new AbortController().signal;

const server = createServer({ keepAlive: true }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => void answer(request, Buffer.concat(chunks).toString(), response));
});
// Don't close idle connections of Workers.
server.keepAliveTimeout = 600_000;
const own = await listen(server, 0);

process.on('message', (ms: number) => {
  latencyMs = ms;
  process.send?.('set');
});
process.send?.(own);

async function answer({ headers }: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
  if (latencyMs > 0) await sleep(latencyMs);
  const { queries, query = '', params = [] }: NeonRequest = JSON.parse(text);
  const client = await pool.connect();
  const session = new Session(client, {
    postgresPort: Number(port),
    maxBytes: Number.POSITIVE_INFINITY,
    hungUp: never,
  });
  let status = 200;
  let answered: object;
  try {
    answered = queries
      ? { results: await session.batch(queries, isReadOnly(headers)) }
      : await session.query(query, params);
  } catch (error) {
    ({ status, body: answered } = NeonError.from(error));
    if (queries) await client.query('ROLLBACK');
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
  client.release();
}
