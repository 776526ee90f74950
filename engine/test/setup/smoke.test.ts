import { createServer } from 'node:http';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { smoke } from '../../cli/setup/smoke.ts';
import { useDatabase } from '../database.ts';
import { sources } from '../fixture/sources.ts';
import { seed } from '../seed.ts';

const database = useDatabase();
let client: pg.Client;
let answer: (eventId: string) => Promise<number>;
let receiver: string;
const server = createServer(async (request, response) => {
  const { id } = (await new Response(request as unknown as ReadableStream).json()) as { id: string };
  response.statusCode = await answer(id);
  response.end();
});
beforeAll(async () => {
  receiver = `http://127.0.0.1:${await listen(server, 0)}`;
  client = new pg.Client({ connectionString: database.stack.databaseUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  server.close();
});

async function claim(event_id: string, event: object): Promise<number> {
  await seed(database, { pending: 1 }, { at: new Date(), event: { event_id, type: 'setup.check', ...event } });
  return 200;
}

it.each<[what: string, answer: (id: string) => Promise<number>, line: string]>([
  ['a wrong secret', async () => 401, 'leg 1, the receiver at 127.0.0.1'],
  ['a receiver that reaches nothing', async () => 503, '503: it reaches neither Postgres nor the queue'],
  [
    'another database',
    async () => 200,
    'leg 2, the ledger: the receiver has answered 200, and this database has no such event',
  ],
  ['a consumer that does not come', (id) => claim(id, {}), 'leg 3, the queue and the consumer'],
  [
    'a consumer that parks it',
    (id) => claim(id, { status: 'parked', failure: 'permanent', finished_at: new Date() }),
    'leg 3, the consumer: the event is parked (permanent',
  ],
])('%s is known by the leg of the delivery that fails', async (_what, answers, line) => {
  answer = answers;
  const { stripe } = sources;
  const keys = { stripe: 'whsec_of_the_test' };
  await expect(smoke({ sources: { stripe }, handlers: {}, keys, receiver, client, patienceMs: 300 })).rejects.toThrow(
    line,
  );
});
