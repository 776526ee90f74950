// A contract of cost: how many requests to Neon the work of a batch takes. Each is a round trip, and Neon bills for its time.
import { sql as statement } from 'drizzle-orm';
import { beforeEach, expect, it, vi } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { defineEffect, defineEffects, defineHandler, type Handler } from '../../../src/kit/index.ts';
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
const increments = (customer = 'c'): Handler =>
  defineHandler({
    handle({ id }, { db }) {
      worked.push(id);
      return [
        db.execute(statement`
          insert into fixture.balances (customer, balance) values (${customer}, 1)
          on conflict (customer) do update set balance = balances.balance + 1`),
      ];
    },
  });

const consume = (messages: FakeMessage[], handler: Handler = increments()) =>
  consumeInNode(messages, handler, database.stack.workerUrls.consumer);

const claimAll = (ids: string[]) => claim(database.consumer, claimRequest(ids, { receivedAt: new Date() }));
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `evt_${String(n).padStart(3, '0')}`);
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
  requests = [];
  const messages = await consume(numbered(100).map((id) => new FakeMessage(id)));
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
  const tickets = numbered(6).map((id) => new FakeMessage(id));
  await consumeInNode(tickets, sends, url, { effects, sent });
  requests = [];
  const messages = sent.tickets.map((ticket, n) => new FakeMessage(String(n), 1, ticket));
  await consumeInNode(messages, sends, url, { effects, queue: 'effects' });
  expect(requests).toEqual(['query', 'query']);
  expect(messages.map(({ settled }) => settled)).toEqual(Array.from({ length: 6 }, () => 'acked'));
});

it('an event that somebody else completes meanwhile costs its group one query and one transaction more', async () => {
  await claimAll(numbered(100));
  requests = [];
  const meanwhile = defineHandler({
    async handle(event, tools) {
      if (event.id === 'evt_050') {
        await sql(`update webhooks.events set status = 'done', completions = 1 where event_id = 'evt_050'`);
      }
      return increments().handle(event as never, tools);
    },
  });
  const messages = await consume(
    numbered(100).map((id) => new FakeMessage(id)),
    meanwhile,
  );
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
  await consume(
    numbered(20).map((id) => new FakeMessage(id)),
    counts,
  );
  expect(most).toBe(6);
});

it('one event of a hundred that cannot be committed costs its group 15 transactions instead of one', async () => {
  await claimAll(numbered(100));
  requests = [];
  const oneFails = defineHandler({
    handle: (event, tools) =>
      event.id === 'evt_050' ? [tools.db.execute(statement`select 1 / 0`)] : increments().handle(event as never, tools),
  });
  const messages = await consume(
    numbered(100).map((id) => new FakeMessage(id)),
    oneFails,
  );
  // The last query counts the attempt of the one that failed.
  expect(requests).toEqual(['query', ...Array.from({ length: 15 }, () => 'transaction'), 'query']);
  expect(messages.filter(({ settled }) => settled === 'acked')).toHaveLength(99);
  expect(await balance()).toBe('99');
});

it('while Postgres is away in the middle of a split group, the rest of it is not tried', async () => {
  await claimAll(numbered(8));
  requests = [];
  let transactions = 0;
  const fault = database.stack.neon.fault;
  database.stack.neon.fault = (request) => {
    fault?.(request);
    if (request.queries) transactions++;
    return request.queries && transactions > 1 ? { kind: 'connection died' } : undefined;
  };
  const oneFails = defineHandler({
    handle: (event, tools) =>
      event.id === 'evt_000' ? [tools.db.execute(statement`select 1 / 0`)] : increments().handle(event as never, tools),
  });
  const messages = await consume(
    numbered(8).map((id) => new FakeMessage(id)),
    oneFails,
  );
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
  requests = [];
  const deadlocks = defineHandler({ handle: (_event, { db }) => [db.execute(statement`select deadlock_once()`)] });
  const messages = await consume(
    numbered(5).map((id) => new FakeMessage(id)),
    deadlocks,
  );
  expect(requests).toEqual(['query', ...Array.from({ length: 6 }, () => 'transaction')]);
  expect(messages.every(({ settled }) => settled === 'acked')).toBe(true);
  expect(await attempts()).toEqual([{ status: 'done', attempts: 1 }]);
});

it('after an outage, a hundred redelivered tickets cost one query and one transaction', async () => {
  await claimAll(numbered(100));
  const fault = database.stack.neon.fault;
  database.stack.neon.fault = () => ({ kind: 'refused' });
  for (const deliveries of [1, 2]) await consume(numbered(100).map((id) => new FakeMessage(id, deliveries)));
  database.stack.neon.fault = fault;
  requests = [];
  const messages = await consume(numbered(100).map((id) => new FakeMessage(id, 3)));
  expect(requests).toEqual(['query', 'transaction']);
  expect(messages.every(({ settled }) => settled === 'acked')).toBe(true);
  expect(await attempts()).toEqual([{ status: 'done', attempts: 1 }]);
});

it('redelivered tickets are worked alone, the most redelivered last, if the group in which they were begun never came back', async () => {
  await claimAll(['a', 'b', 'c', 'd']);
  const killed = defineHandler({ handle: () => new Promise<never>(() => {}) });
  const group = ['a', 'b', 'c'].map((id) => new FakeMessage(id, 2));
  void consumeInNode(group, killed, database.stack.workerUrls.consumer, { handlerMs: 2 ** 30 });
  await vi.waitFor(
    async () => expect(await sql('select 1 from webhooks.events where begun_at is not null')).toHaveLength(3),
    WAIT,
  );
  requests = [];
  await consume([new FakeMessage('a', 9), new FakeMessage('b', 3), new FakeMessage('c', 5), new FakeMessage('d', 2)]);
  expect(worked).toEqual(['d', 'b', 'c', 'a']);
  expect(requests).toEqual(Array.from({ length: 4 }, () => ['query', 'transaction']).flat());
  expect(await sql('select 1 from webhooks.events where begun_at is not null')).toEqual([]);
});

it('unreadable messages cost no query, however often and however many they are delivered', async () => {
  await claimAll(['a', 'b']);
  requests = [];
  const unreadable = Array.from({ length: 100 }, (_, n) => new FakeMessage(`unreadable_${n}`, 2, 'text'));
  await consume(unreadable);
  expect(requests).toEqual([]);
  await consume([new FakeMessage('a', 2), ...unreadable, new FakeMessage('b', 2)]);
  expect(requests).toEqual(['query', 'transaction']);
  expect(unreadable.every(({ settled }) => typeof settled === 'number')).toBe(true);
});
