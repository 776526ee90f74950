// A program: `node engine/bench/peers/node.ts hono|express <URL of Postgres> <secret>`. Receives webhooks in Node. With
// Hono, it inserts the event and answers, which is the minimum to store it. With Express, it does what tutorials do: a
// transaction that includes the work, and then the answer.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import express from 'express';
import { Hono } from 'hono';
import pg from 'pg';
import { INCREMENT, UPSERT } from './statements.ts';

const [framework, databaseUrl, secret = ''] = process.argv.slice(2);
/** The number of connections that Neon's proxy keeps for the Workers. */
const pool = new pg.Pool({ connectionString: databaseUrl ?? '', max: 20 });

const INSERT = `with claimed as (
    insert into webhooks.events (source, event_id, type, received_at, due_at)
    values ('github', $1, $2, now(), now()) on conflict do nothing returning event_id
  )
  insert into webhooks.bodies (source, event_id, body, headers, received_at)
  select 'github', event_id, $3, '{}', now() from claimed`;

function isSigned(body: Buffer, signature = ''): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function insert(db: pg.Pool | pg.PoolClient, id = '', type: string, body: Buffer): Promise<boolean> {
  const { action } = JSON.parse(body.toString());
  const { rowCount } = await db.query(INSERT, [id, `${type}.${action}`, body.toString()]);
  return rowCount === 1;
}

const hono = new Hono().post('/webhooks/github', async (context) => {
  const header = (name: string) => context.req.header(name);
  const body = Buffer.from(await context.req.arrayBuffer());
  if (!isSigned(body, header('x-hub-signature-256'))) return context.body(null, 401);
  const isNew = await insert(pool, header('x-github-delivery'), header('x-github-event') ?? '', body);
  return context.json({ status: isNew ? 'accepted' : 'duplicate' });
});

const app = express();
app.post('/webhooks/github', express.raw({ type: '*/*', limit: '5mb' }), async (request, response) => {
  const body: Buffer = request.body;
  if (!isSigned(body, request.get('x-hub-signature-256'))) return void response.sendStatus(401);
  const id = request.get('x-github-delivery') ?? '';
  const client = await pool.connect();
  try {
    await client.query('begin');
    const isNew = await insert(client, id, request.get('x-github-event') ?? '', body);
    if (isNew) {
      await client.query(UPSERT, [id, id.slice(-3), 1]);
      await client.query(INCREMENT, [id.slice(-3), 1]);
    }
    await client.query('commit');
    response.json({ status: isNew ? 'accepted' : 'duplicate' });
  } finally {
    client.release();
  }
});

const ready = (address: AddressInfo | null) => void process.send?.(address?.port);
if (framework === 'hono') serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' }, ready);
else {
  const server = app.listen(0, '127.0.0.1', () => ready(server.address() as AddressInfo));
}
