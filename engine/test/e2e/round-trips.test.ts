// A contract of cost: how many requests to Neon the work of a batch takes. Each is a round trip, and Neon bills for its time.
import { sql as statement } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { defineEffect, defineEffects, defineHandler, type Handler } from '../../src/kit/index.ts';
import { useDatabase, WAIT } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

/** The requests that the consumer sent to Neon, and the events whose handlers were asked. */
let requests: ('query' | 'transaction')[];
let worked: string[];

/** Adds one to the balance, and notes the id of the event. */
const increments = defineHandler({
  handle({ id }, { db }) {
    worked.push(id);
    return [
      db.execute(statement`
        insert into fixture.balances (customer, balance) values ('c', 1)
        on conflict (customer) do update set balance = balances.balance + 1`),
    ];
  },
});

/** The same, but the changes of this event can't be committed. */
const exceptOf = (id: string): Handler =>
  defineHandler({
    handle: (event, tools) =>
      event.id === id ? [tools.db.execute(statement`select 1 / 0`)] : increments.handle(event as never, tools),
  });

const consume = (messages: FakeMessage[], handler: Handler = increments) =>
  consumeInNode(messages, handler, database.stack.workerUrls.consumer);

/** What it asks of Neon is not counted. */
async function claimAll(ids: string[]): Promise<void> {
  await claim(database.consumer, claimRequest(ids, { receivedAt: new Date() }));
  requests = [];
}
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `evt_${String(n).padStart(3, '0')}`);
const tickets = (count: number, deliveries = 1) => numbered(count).map((id) => new FakeMessage(id, deliveries));
const balance = async () => (await sql<{ balance: string }>('select balance from fixture.balances'))[0]?.balance;
const attempts = () => sql('select status, attempts from webhooks.events group by 1, 2');

beforeEach(async () => {
  await sql('delete from webhooks.events; delete from fixture.balances');
  requests = [];
  worked = [];
  database.stack.neon.fault = ({ queries }) => {
    requests.push(queries ? 'transaction' : 'query');
    return undefined;
  };
});

it('a hundred events cost one query and one transaction', async () => {
  await claimAll(numbered(100));
  const messages = await consume(tickets(100));
  expect(requests).toEqual(['query', 'transaction']);
  expect(messages.every(({ settled }) => settled === 'acked')).toBe(true);
  expect(await balance()).toBe('100');
});

it('six effects cost one query before they are sent and one after it', async () => {
  await claimAll(numbered(6));
  const { effects, effect } = defineEffects({ receipt: defineEffect<null>({ send: async () => new Response() }) });
  const sends = defineHandler({ handle: () => [effect('receipt', null)] });
  const sent = new FakeQueue();
  const url = database.stack.workerUrls.consumer;
  await consumeInNode(tickets(6), sends, url, { effects, sent });
  requests = [];
  const messages = sent.tickets.map((ticket, n) => new FakeMessage(String(n), 1, ticket));
  await consumeInNode(messages, sends, url, { effects, queue: 'effects' });
  expect(requests).toEqual(['query', 'query']);
  expect(messages.map(({ settled }) => settled)).toEqual(Array.from({ length: 6 }, () => 'acked'));
});

it('an event that somebody else completes meanwhile costs its group one query and one transaction more', async () => {
  await claimAll(numbered(100));
  const meanwhile = defineHandler({
    async handle(event, tools) {
      if (event.id === 'evt_050') {
        await sql(`update webhooks.events set status = 'done', completions = 1 where event_id = 'evt_050'`);
      }
      return increments.handle(event as never, tools);
    },
  });
  const messages = await consume(tickets(100), meanwhile);
  expect(requests).toEqual(['query', 'transaction', 'query', 'transaction']);
  expect(messages.every(({ settled }) => settled === 'acked')).toBe(true);
  expect(await balance()).toBe('99');
});

it('an event that nobody wants and somebody else completes meanwhile is settled', async () => {
  await claim(database.consumer, claimRequest([newEvent('a', { type: 'unwanted' }), 'b'], { receivedAt: new Date() }));
  const meanwhile = defineHandler({
    async handle() {
      await sql(`update webhooks.events set status = 'ignored', completions = 1 where event_id = 'a'`);
      return [];
    },
  });
  const messages = await consume([new FakeMessage('a'), new FakeMessage('b')], meanwhile);
  expect(messages.map(({ settled }) => settled)).toEqual(['acked', 'acked']);
});

it('six handlers are asked at a time, because a Worker makes at most six calls to the outside at once', async () => {
  await claimAll(numbered(20));
  let [now, most] = [0, 0];
  const counts = defineHandler({
    async handle() {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now--;
      return [];
    },
  });
  await consume(tickets(20), counts);
  expect(most).toBe(6);
});

it('one event of a hundred that cannot be committed costs its group 15 transactions instead of one', async () => {
  await claimAll(numbered(100));
  const messages = await consume(tickets(100), exceptOf('evt_050'));
  // The last query counts the attempt of the one that failed.
  expect(requests).toEqual(['query', ...Array.from({ length: 15 }, () => 'transaction'), 'query']);
  expect(messages.filter(({ settled }) => settled === 'acked')).toHaveLength(99);
  expect(await balance()).toBe('99');
});

it('while Postgres is away in the middle of a split group, the rest of it is not tried', async () => {
  await claimAll(numbered(8));
  let transactions = 0;
  const fault = database.stack.neon.fault;
  database.stack.neon.fault = (request) => {
    fault?.(request);
    if (request.queries) transactions++;
    return request.queries && transactions > 1 ? { kind: 'connection died' } : undefined;
  };
  const messages = await consume(tickets(8), exceptOf('evt_000'));
  expect(requests).toEqual(['query', 'transaction', 'transaction']);
  expect(messages.every(({ settled }) => typeof settled === 'number')).toBe(true);
  expect(await attempts()).toEqual([{ status: 'pending', attempts: 0 }]);
});

// Each half would meet the same locks again, and wait for them again.
it.each([
  ['a deadlock', '40P01'],
  ['a lock that was not free in time', '55P03'],
])('after %s, the events of a group are committed one by one at once', async (_what, code) => {
  await sql('create sequence if not exists deadlocks');
  await sql(`grant usage on sequence deadlocks to ${database.role('consumer')}`);
  await sql('alter sequence deadlocks restart');
  // A rollback doesn't reset a sequence, so only the first call fails.
  await sql(`create or replace function deadlock_once() returns void language plpgsql as
    $$ begin if nextval('deadlocks') = 1 then raise exception using errcode = '${code}'; end if; end $$`);
  await claimAll(numbered(5));
  const deadlocks = defineHandler({ handle: (_event, { db }) => [db.execute(statement`select deadlock_once()`)] });
  const messages = await consume(tickets(5), deadlocks);
  expect(requests).toEqual(['query', ...Array.from({ length: 6 }, () => 'transaction')]);
  expect(messages.every(({ settled }) => settled === 'acked')).toBe(true);
  expect(await attempts()).toEqual([{ status: 'done', attempts: 1 }]);
});

it('after an outage, a hundred redelivered tickets cost one query and one transaction', async () => {
  await claimAll(numbered(100));
  const fault = database.stack.neon.fault;
  database.stack.neon.fault = () => ({ kind: 'refused' });
  for (const deliveries of [1, 2]) await consume(tickets(100, deliveries));
  database.stack.neon.fault = fault;
  requests = [];
  const messages = await consume(tickets(100, 3));
  expect(requests).toEqual(['query', 'transaction']);
  expect(messages.every(({ settled }) => settled === 'acked')).toBe(true);
  expect(await attempts()).toEqual([{ status: 'done', attempts: 1 }]);
});

it('redelivered tickets are worked alone, the most redelivered last, if the group in which they were begun never came back', async () => {
  await claimAll(['a', 'b', 'c', 'd', 'waits']);
  await sql(`update webhooks.events set not_before = now() + interval '1 day' where event_id = 'waits'`);
  const begun = async () => {
    const rows = await sql<{ id: string }>('select event_id as id from webhooks.events where begun_at is not null');
    return rows.map(({ id }) => id).sort();
  };
  const killed = defineHandler({ handle: () => new Promise<never>(() => {}) });
  const group = ['a', 'b', 'c', 'waits'].map((id) => new FakeMessage(id, 2));
  void consumeInNode(group, killed, database.stack.workerUrls.consumer, { handlerMs: 2 ** 30 });
  await expect.poll(begun, WAIT).toEqual(['a', 'b', 'c']);
  requests = [];
  await consume([new FakeMessage('a', 9), new FakeMessage('b', 3), new FakeMessage('c', 5), new FakeMessage('d', 2)]);
  expect(worked).toEqual(['d', 'b', 'c', 'a']);
  expect(requests).toEqual(Array.from({ length: 4 }, () => ['query', 'transaction']).flat());
  expect(await begun()).toEqual([]);
});

it('unreadable messages cost no query, however often and however many they are delivered', async () => {
  await claimAll(['a', 'b']);
  const unreadable = Array.from({ length: 100 }, (_, n) => new FakeMessage(`unreadable_${n}`, 2, 'text'));
  await consume(unreadable);
  expect(requests).toEqual([]);
  await consume([new FakeMessage('a', 2), ...unreadable, new FakeMessage('b', 2)]);
  expect(requests).toEqual(['query', 'transaction']);
  expect(unreadable.every(({ settled }) => typeof settled === 'number')).toBe(true);
});
