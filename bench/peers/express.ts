// A program: `node bench/peers/express.ts <URL of Postgres> <secret> <ms of work>`. How tutorials receive webhooks: check the
// signature, insert, work, and only then answer.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import pg from 'pg';

const [databaseUrl, secret = '', workMs] = process.argv.slice(2);
/** As many connections as Neon's proxy keeps for the Workers. */
const pool = new pg.Pool({ connectionString: databaseUrl ?? '', max: 20 });

const app = express();
app.post('/webhooks/github', express.raw({ type: '*/*', limit: '5mb' }), async (request, response) => {
  const body: Buffer = request.body;
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(request.get('x-hub-signature-256') ?? '');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return void response.sendStatus(401);
  const event = JSON.parse(body.toString());
  const { rowCount } = await pool.query(
    `with claimed as (
       insert into webhooks.events (source, event_id, type, received_at, due_at)
       values ('github', $1, $2, now(), now()) on conflict do nothing returning event_id
     )
     insert into webhooks.bodies (source, event_id, body, headers, received_at)
     select 'github', event_id, $3, '{}', now() from claimed`,
    [request.get('x-github-delivery'), `${request.get('x-github-event')}.${event.action}`, body.toString()],
  );
  if (rowCount && Number(workMs) > 0) await sleep(Number(workMs));
  response.json({ status: rowCount ? 'accepted' : 'duplicate' });
});
const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
