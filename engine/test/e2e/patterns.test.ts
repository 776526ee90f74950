import { readFileSync } from 'node:fs';
import { sql as drizzleSql, gte } from 'drizzle-orm';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { defineHandler, type Handler, must, PermanentError, RetryLater } from '../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import { useDatabase } from '../database.ts';
import { createFixtureTables } from '../fixture/database.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';
import * as patterns from './patterns.ts';

const database = useDatabase();
const { sql } = database;

beforeAll(() => createFixtureTables(database.stack.databaseUrl, patterns));

beforeEach(async () => {
  for (const table of ['webhooks.events', 'notices', 'orders', 'stock', 'products', 'profiles']) {
    await sql(`delete from ${table}`);
  }
  database.stack.outside.requests.length = 0;
});

/** Claims an event for each payload. Their ids are a, b, c and so on. */
async function claimAll(...payloads: object[]): Promise<string[]> {
  const ids = payloads.map((_, n) => String.fromCharCode(97 + n));
  const events = payloads.map((data, n) => newEvent(ids[n] ?? '', { body: JSON.stringify(data) }));
  await claim(database.consumer, claimRequest(events, { receivedAt: new Date() }));
  return ids;
}

/** Works events in one batch. */
async function work(handler: Handler, ids: readonly string[]): Promise<void> {
  const { url } = database.stack.outside;
  const messages = ids.map((id) => new FakeMessage(id));
  await consumeInNode(messages, handler, database.stack.workerUrls.consumer, {
    vars: { SHOP_URL: url, SHOP_KEY: 'key' },
    handlerMs: 60_000,
  });
}

/** The same handler, but none of so many runs returns before all of them have read. */
function readTogether({ handle, ...handler }: Handler, runs: number): Handler {
  const { promise: allHaveRead, resolve } = Promise.withResolvers<void>();
  let read = 0;
  return {
    ...handler,
    async handle(event, tools) {
      const changes = await handle(event, tools);
      if (++read === runs) resolve();
      await allHaveRead;
      return changes;
    },
  };
}

const workEachInItsOwnBatch = (handler: Handler, ids: readonly string[]) =>
  Promise.all(ids.map((id) => work(handler, [id])));

/** As their tickets would come again, until no event is pending. */
async function workUntilDone(handler: Handler, ids: readonly string[]): Promise<void> {
  for (let round = 0; round < 10 && (await events('pending')).length > 0; round++) {
    await sql('update webhooks.events set not_before = null');
    await work(handler, ids);
  }
  expect(await events('done')).toHaveLength(ids.length);
}

const events = (status: string) =>
  sql<{ id: string; attempts: number; failure: string; error: string }>(
    'select event_id as id, attempts, failure, last_error as error from webhooks.events where status = $1 order by 1',
    [status],
  );

describe('once per shipment', () => {
  const delivered = { shipment: 's1', email: 'a@example.com' };
  const mails = () => sql('select payload from webhooks.effects');

  it('two events of one shipment in one batch send one mail, and both are done', async () => {
    const ids = await claimAll(delivered, delivered);
    await work(patterns.delivered, ids);
    expect(await mails()).toHaveLength(1);
    expect(await events('pending')).toMatchObject([
      { attempts: 1, failure: 'handler', error: 'Error: another event of this shipment was faster' },
    ]);
    await workUntilDone(patterns.delivered, ids);
    expect(await mails()).toHaveLength(1);
  });

  it('twenty events of one shipment in twenty batches at the same time send one mail', async () => {
    const ids = await claimAll(...Array.from({ length: 20 }, () => delivered));
    await workEachInItsOwnBatch(readTogether(patterns.delivered, 20), ids);
    expect(await events('done')).toHaveLength(1);
    expect(await mails()).toHaveLength(1);
    await workUntilDone(patterns.delivered, ids);
    expect(await mails()).toHaveLength(1);
  });
});

describe('never below zero', () => {
  beforeEach(() => sql(`insert into stock values ('sku', 5)`));
  const available = async () => (await sql<{ available: number }>('select available from stock'))[0]?.available;

  it('of ten orders at the same time those are done that the stock has enough for, the others are parked', async () => {
    const ids = await claimAll(...Array.from({ length: 10 }, () => ({ sku: 'sku', quantity: 1 })));
    await Promise.all([
      work(patterns.reserved, ids.slice(0, 5)),
      workEachInItsOwnBatch(patterns.reserved, ids.slice(5)),
    ]);
    expect(await events('done')).toHaveLength(5);
    const parked = await events('parked');
    expect(parked).toHaveLength(5);
    expect(parked[0]).toMatchObject({ attempts: 1, error: 'PermanentError: fewer than 1 of sku in stock' });
    expect(await available()).toBe(0);
  });

  it('an event about a sku that does not exist is parked, whichever handler it has', async () => {
    const unknown = { sku: 'unknown', quantity: 1 };
    await work(patterns.reserved, (await claimAll(unknown, unknown)).slice(0, 1));
    await work(patterns.counted, ['b']);
    expect(await events('parked')).toMatchObject([
      { id: 'a' },
      { id: 'b', error: 'PermanentError: there is no unknown' },
    ]);
  });

  it('an event that breaks a constraint is parked at once if its handler names the constraint, and its neighbours are done', async () => {
    const ids = await claimAll({ sku: 'sku', quantity: 1 }, { sku: 'sku', quantity: 9 }, { sku: 'sku', quantity: 2 });
    await work({ ...patterns.counted, parkOn: ['another_constraint'] }, ids);
    expect(await events('pending')).toMatchObject([{ id: 'b', attempts: 1, failure: 'database' }]);
    await sql('update webhooks.events set not_before = null');
    await work(patterns.counted, ids);
    expect(await events('parked')).toMatchObject([{ id: 'b', error: expect.stringContaining('stock_never_negative') }]);
    expect(await available()).toBe(2);
  });
});

it.each([
  ['in their order', ['placed', 'paid', 'shipped', 'delivered']],
  ['in the opposite order', ['delivered', 'shipped', 'paid', 'placed']],
])('a state never goes back, whether its events arrive %s', async (_order, states) => {
  const ids = await claimAll(...states.map((state) => ({ order: 'o1', state })));
  for (const id of ids) await work(patterns.moved, [id]);
  expect(await events('done')).toHaveLength(4);
  expect(await sql('select state from orders')).toEqual([{ state: 'delivered' }]);
});

it('an API without idempotency keys is asked before it is called again, so it makes one label', async () => {
  const { outside, workerUrls } = database.stack;
  await claimAll({});
  await work(defineHandler({ handle: () => [patterns.effect('label', { order: 'o1' })] }), ['a']);
  const made: string[] = [];
  outside.answer = async ({ method, body }) => {
    if (method === 'GET') return made;
    made.push(body);
    // The label is made, and its answer is lost.
    return new Response(null, { status: 500 });
  };
  for (let time = 0; time < 2; time++) {
    await sql('update webhooks.effects set not_before = null');
    const ticket = new FakeMessage('a', 1, { version: MESSAGE_VERSION, source: 'test', eventId: 'a', name: 'label' });
    const vars = { CARRIER_URL: outside.url };
    await consumeInNode([ticket], patterns.moved, workerUrls.consumer, {
      queue: 'effects',
      effects: patterns.effects,
      vars,
    });
  }
  outside.answer = undefined;
  expect(made).toHaveLength(1);
  expect(await sql('select status, attempts from webhooks.effects')).toEqual([{ status: 'sent', attempts: 1 }]);
});

it.each([0, 1])(
  'a state that was fetched earlier does not overwrite a newer one: %i rows were stored',
  async (rows) => {
    const { outside } = database.stack;
    await sql(`insert into products select 'p1', 'stored', 1 from generate_series(1, $1::int)`, [rows]);
    const ids = await claimAll({ product: 'p1' }, { product: 'p1' });
    const held = Promise.withResolvers<object>();
    const asked = Promise.withResolvers<void>();
    outside.answer = () => {
      outside.answer = () => ({ title: 'new' });
      asked.resolve();
      return held.promise;
    };
    const first = work(patterns.changed, ['a']);
    await asked.promise;
    await work(patterns.changed, ['b']);
    held.resolve({ title: 'old' });
    await first;
    expect(await sql('select title from products')).toEqual([{ title: 'new' }]);
    await workUntilDone(patterns.changed, ids);
    expect(await sql('select title from products')).toEqual([{ title: 'new' }]);
    outside.answer = undefined;
  },
);

it('a product that was deleted before it was fetched stays deleted, although an older answer is committed later', async () => {
  const { outside } = database.stack;
  const ids = await claimAll({ product: 'p1' }, { product: 'p1' });
  const held = Promise.withResolvers<object>();
  const asked = Promise.withResolvers<void>();
  outside.answer = () => {
    outside.answer = () => new Response(null, { status: 404 });
    asked.resolve();
    return held.promise;
  };
  const first = work(patterns.changed, ['a']);
  await asked.promise;
  await work(patterns.changed, ['b']);
  held.resolve({ title: 'old' });
  await first;
  await workUntilDone(patterns.changed, ids);
  expect(await sql('select title from products')).toEqual([{ title: null }]);
  outside.answer = undefined;
});

it('the events of a customer are worked in the order of their versions, however they arrive', async () => {
  const ids = await claimAll(
    ...[3, 2, 1].map((version) => ({ customer: 'c1', version, email: `${version}@example.com` })),
  );
  await work(patterns.profileChanged, ids);
  await workUntilDone(patterns.profileChanged, ids);
  const stored = [{ version: 3, email: '3@example.com' }];
  expect(await sql('select version, email from profiles')).toEqual(stored);
  const old = newEvent('old', { body: JSON.stringify({ customer: 'c1', version: 1, email: 'old@example.com' }) });
  await claim(database.consumer, claimRequest([old], { receivedAt: new Date() }));
  await work(patterns.profileChanged, ['old']);
  expect(await events('done')).toMatchObject([...ids, 'old'].sort().map((id) => ({ id })));
  expect(await sql('select version, email from profiles')).toEqual(stored);
});

it.each([
  ['after it has started', [patterns.trialStarted, patterns.trialEnded]],
  ['although its end is worked first', [patterns.trialEnded, patterns.trialStarted]],
])('nobody is reminded of a trial that has ended, %s', async (_order, handlers) => {
  await sql('delete from webhooks.cancellations');
  const endsAt = new Date(Date.now() + 4 * 86_400_000).toISOString();
  const trial = { email: 'a@example.com', endsAt };
  const [first, second, other] = await claimAll(
    { ...trial, trial: 't1' },
    { ...trial, trial: 't1' },
    { ...trial, trial: 't2' },
  );
  await work(handlers[0] as Handler, [first ?? '']);
  await work(handlers[1] as Handler, [second ?? '']);
  await work(patterns.trialStarted, [other ?? '']);
  await sql('update webhooks.effects set not_before = now(), send_at = now()');
  const tickets = (await sql<{ id: string }>('select event_id as id from webhooks.effects')).map(
    ({ id }) => new FakeMessage(id, 1, { version: MESSAGE_VERSION, source: 'test', eventId: id, name: 'reminder' }),
  );
  await consumeInNode(tickets, patterns.trialEnded, database.stack.workerUrls.consumer, {
    queue: 'effects',
    effects: patterns.effects,
  });
  expect(await sql('select status, cancel_key from webhooks.effects order by cancel_key')).toEqual([
    { status: 'cancelled', cancel_key: 't1' },
    { status: 'sent', cancel_key: 't2' },
  ]);
});

describe('must()', () => {
  it('a row that a select for update has found stays as it is until the commit', async () => {
    await sql(`insert into stock values ('sku', 1)`);
    const ids = await claimAll(...Array.from({ length: 10 }, () => ({})));
    const found: Handler = defineHandler({
      handle: (_event, { db }) => [
        must(
          db.select().from(patterns.stock).where(gte(patterns.stock.available, 1)).for('update'),
          new PermanentError('none'),
        ),
        // A condition that reads without a lock lets a second event come here before this is committed.
        db.execute(drizzleSql`select pg_sleep(0.05)`),
        db.update(patterns.stock).set({ available: drizzleSql`${patterns.stock.available} - 1` }),
      ],
    });
    await workEachInItsOwnBatch(found, ids);
    expect([(await events('done')).length, (await events('parked')).length]).toEqual([1, 9]);
  });

  it('a select that finds no row is a condition as well, and its error says when the event is tried again', async () => {
    const ids = await claimAll({}, {});
    const found: Handler = defineHandler({
      handle: ({ id }, { db }) => [
        db.insert(patterns.orders).values({ id, state: 'paid' }),
        must(db.select().from(patterns.stock), new RetryLater(3600, 'no stock is known yet')),
      ],
    });
    await work(found, ids);
    expect(await sql('select * from orders')).toEqual([]);
    const rows = await sql<{ failure: string; wait: number }>(
      'select failure, extract(epoch from not_before - now())::int as wait from webhooks.events',
    );
    expect(rows.map(({ failure }) => failure)).toEqual(['retry_later', 'retry_later']);
    expect(rows[0]?.wait).toBeGreaterThan(3000);
    await sql(`insert into stock values ('sku', 5)`);
    await workUntilDone(found, ids);
  });

  it('of several conditions, the error is that of the one that was not met', async () => {
    const ids = await claimAll({}, {}, {});
    const handler: Handler = defineHandler({
      handle: ({ id }, { db }) => {
        const insert = db.insert(patterns.orders).values({ id: 'o1', state: 'paid' }).onConflictDoNothing();
        return [
          must(db.insert(patterns.notices).values({ shipment: id }), 'the first'),
          must(insert, `the second of ${id}`),
        ];
      },
    });
    await work(handler, ids);
    expect((await events('done')).length).toBe(1);
    for (const { id, error } of await events('pending')) expect(error).toBe(`Error: the second of ${id}`);
    expect(await sql('select * from notices')).toHaveLength(1);
  });
});

it('docs/patterns.md shows the code that is tested here', () => {
  const blocks = readFileSync('docs/patterns.md', 'utf8').matchAll(/```ts\n(.*?)```/gs);
  const page = Array.from(blocks, ([, text]) => text).join('\n');
  expect(page).toMatch(/^export const notices/);
  expect(readFileSync('engine/test/e2e/patterns.ts', 'utf8')).toContain(page);
});
