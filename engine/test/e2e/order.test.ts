// Events with an order key: which is worked when, by any number of consumers.
import { sql as statement } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { takeOverdue } from '../../src/db/sweep.ts';
import { defineHandler, type Handler, PermanentError } from '../../src/kit/index.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

const START = Date.parse('2026-03-01T12:00:00Z');
const KEY = '{json:customer}';
let clock = START;
const now = () => new Date(clock);

beforeEach(async () => {
  await sql(
    'delete from webhooks.events; delete from webhooks.order_keys; drop table if exists lists; create table lists (customer text primary key, ids text[] not null)',
  );
  await sql(`grant select, insert, update on lists to "${database.role('consumer')}"`);
  clock = START + 60_000;
});

/** Claims an event of a customer, received so many seconds after the start. */
async function arrive(id: string, customer: string, seconds: number, more: object = {}): Promise<void> {
  const event = newEvent(id, { body: JSON.stringify({ customer }), orderKey: customer, orderPlace: 0, ...more });
  await claim(database.receiver, claimRequest([event], { receivedAt: new Date(START + seconds * 1000) }));
}

/** Appends the id to the list of its customer, which it has read: a wrong order, or two at once, would show. */
const appends = defineHandler({
  async handle({ id, orderKey, late }, { db }) {
    const { rows } = await db.execute<{ ids: string[] }>(statement`select ids from lists where customer = ${orderKey}`);
    const ids = [...(rows[0]?.ids ?? []), late ? `${id} late` : id];
    return [
      db.execute(statement`
        insert into lists values (${orderKey}, ${statement.param(ids)}) on conflict (customer) do update set ids = excluded.ids`),
    ];
  },
});

/** Appends without reading. */
const adds = defineHandler({
  handle: ({ id, orderKey, late }, { db }) => [
    db.execute(statement`
      insert into lists values (${orderKey}, array[${late ? `${id} late` : id}])
      on conflict (customer) do update set ids = lists.ids || excluded.ids`),
  ],
});

const exceptOf = (bad: string, error: Error, handler: Handler): Handler =>
  defineHandler({
    handle: (event, tools) => {
      if (event.id === bad) throw error;
      return handler.handle(event as never, tools);
    },
  });

interface Consumed {
  readonly settled: readonly unknown[];
  /** The ids of the events that got a ticket. */
  readonly next: readonly string[];
  readonly lines: readonly LogLine[];
}

async function consume(ids: readonly string[], handler: Handler, deliveries = 1, options = {}): Promise<Consumed> {
  const next = new FakeQueue();
  const lines: LogLine[] = [];
  const messages = ids.map((id) => new FakeMessage(id, deliveries));
  await consumeInNode(messages, handler, database.stack.workerUrls.consumer, {
    orderKey: KEY,
    next,
    now,
    lines,
    ...options,
  });
  return {
    settled: messages.map(({ settled }) => settled),
    next: next.tickets.map((ticket) => String(Reflect.get(ticket as object, 'eventId'))),
    lines,
  };
}

const lists = async () =>
  Object.fromEntries(
    (await sql<{ customer: string; ids: string[] }>('select * from lists')).map(({ customer, ids }) => [
      customer,
      ids.join(),
    ]),
  );
const statusOf = async (id: string) =>
  (
    await sql<{ status: string; attempts: number }>(
      'select status, attempts from webhooks.events where event_id = $1',
      [id],
    )
  )[0];

describe.each([
  ['that reads', appends],
  ['that only writes', adds],
])('with a handler %s', (_which, handler) => {
  it('events of one key are worked in the order of their receipt, whatever order their tickets come in', async () => {
    for (const [n, id] of ['a', 'b', 'c', 'd', 'e'].entries()) await arrive(id, 'one', n);
    await arrive('x', 'two', 0);
    const { settled, next } = await consume(['d', 'b', 'x', 'a', 'e', 'c'], handler);
    expect(await lists()).toEqual({ one: 'a,b,c,d,e', two: 'x' });
    expect([settled, next]).toEqual([Array.from({ length: 6 }, () => 'acked'), []]);
  });

  it('those of one delivery are worked in the order of its body', async () => {
    const ids = ['m', 'c', 'x', 'a'];
    const events = ids.map((id, orderPlace) => newEvent(id, { orderKey: 'one', orderPlace }));
    await claim(database.receiver, claimRequest(events, { receivedAt: new Date(START) }));
    await consume(['a', 'c', 'm', 'x'], handler);
    expect(await lists()).toEqual({ one: 'm,c,x,a' });
  });

  it('whoever has worked the first goes on with those behind it, which have no ticket here', async () => {
    for (const [n, id] of ['a', 'b', 'c'].entries()) await arrive(id, 'one', n);
    const { lines } = await consume(['a'], handler);
    expect(await lists()).toEqual({ one: 'a,b,c' });
    expect(lines.map(({ event_id, outcome }) => [event_id, outcome])).toEqual([
      ['a', 'done'],
      ['b', 'done'],
      ['c', 'done'],
    ]);
  });

  it('one that is claimed after a later one was worked is late, and so is one that is run again', async () => {
    await arrive('b', 'one', 2);
    await consume(['b'], handler);
    await arrive('a', 'one', 1);
    await arrive('c', 'one', 3);
    await consume(['c', 'a'], handler);
    expect(await lists()).toEqual({ one: 'b,a late,c' });
    await sql(`update webhooks.events set status = 'pending', completions = 0 where event_id = 'c'`);
    await consume(['c'], handler);
    expect(await lists()).toEqual({ one: 'b,a late,c,c late' });
  });

  it('one that fails is waited for, and the others of its group are committed', async () => {
    for (const [n, id] of ['a', 'b', 'c', 'd'].entries()) await arrive(id, 'one', n);
    await arrive('x', 'two', 0);
    const failing = exceptOf('c', new Error('no'), handler);
    const { settled, next } = await consume(['a', 'b', 'c', 'd', 'x'], failing);
    expect(await lists()).toEqual({ one: 'a,b', two: 'x' });
    expect(await statusOf('c')).toEqual({ status: 'pending', attempts: 1 });
    expect(await statusOf('d')).toEqual({ status: 'pending', attempts: 0 });
    // Its ticket comes again, and those of the others are not needed.
    expect([settled, next]).toEqual([['acked', 'acked', 3, 'acked', 'acked'], []]);
    clock += 60_000;
    await consume(['c'], handler, 2);
    await consume(['d'], handler);
    expect(await lists()).toEqual({ one: 'a,b,c,d', two: 'x' });
  });

  it('one that has no ticket here and fails gets one for its next attempt', async () => {
    await arrive('a', 'one', 0);
    await arrive('b', 'one', 1);
    const { next } = await consume(['a'], exceptOf('b', new Error('no'), handler));
    expect([await lists(), next]).toEqual([{ one: 'a' }, ['b']]);
  });
});

it('the events behind one whose changes Postgres refuses are not worked before it', async () => {
  for (const [n, id] of ['a', 'b', 'c', 'd', 'e'].entries()) await arrive(id, 'one', n);
  const refused = defineHandler({
    handle: (event, tools) =>
      event.id === 'd' ? [tools.db.execute(statement`select 1 / 0`)] : adds.handle(event as never, tools),
  });
  await consume(['a', 'b', 'c', 'd', 'e'], refused);
  expect(await lists()).toEqual({ one: 'a,b,c' });
  expect([await statusOf('d'), await statusOf('e')]).toEqual([
    { status: 'pending', attempts: 1 },
    { status: 'pending', attempts: 0 },
  ]);
});

it('an event whose predecessor is pending is not worked, counts no attempt, and its ticket is acknowledged', async () => {
  await arrive('a', 'one', 0);
  await arrive('b', 'one', 1);
  const { settled, lines } = await consume(['b'], adds);
  expect([settled, await lists(), await statusOf('b')]).toEqual([['acked'], {}, { status: 'pending', attempts: 0 }]);
  expect(lines).toMatchObject([{ step: 'completion', outcome: 'not_its_turn', event_id: 'b' }]);
});

it('events without a key, or of which the key cannot be filled, are worked in any order', async () => {
  await arrive('a', 'one', 0);
  await claim(database.receiver, claimRequest(['plain'], { receivedAt: new Date(START + 5000) }));
  await consume(['plain'], defineHandler({ handle: () => [] }));
  expect([await statusOf('plain'), await statusOf('a')]).toEqual([
    { status: 'done', attempts: 1 },
    { status: 'pending', attempts: 0 },
  ]);
});

describe('a parked event', () => {
  const parking = exceptOf('a', new PermanentError('no'), adds);

  it('is waited for until somebody retries or discards it', async () => {
    await arrive('a', 'one', 0);
    await arrive('b', 'one', 1);
    const { next } = await consume(['a', 'b'], parking);
    expect([await lists(), next]).toEqual([{}, []]);
    await consume(['b'], parking, 2);
    expect(await lists()).toEqual({});
    await sql(`update webhooks.events set status = 'ignored' where event_id = 'a'`);
    await consume(['b'], parking);
    expect(await lists()).toEqual({ one: 'b' });
  });

  it('is not waited for if the source says so', async () => {
    await arrive('a', 'one', 0);
    await arrive('b', 'one', 1);
    await consume(['a'], parking, 1, { orderKey: { of: KEY, afterParked: 'continue' } });
    expect(await lists()).toEqual({ one: 'b' });
  });

  it('that is a suspected replay is never waited for', async () => {
    await arrive('first', 'two', 0, { fingerprint: 'same' });
    await arrive('captured', 'one', 1, { fingerprint: 'same' });
    expect(await statusOf('captured')).toMatchObject({ status: 'parked' });
    await arrive('b', 'one', 2);
    await consume(['b'], adds);
    expect(await lists()).toEqual({ one: 'b' });
  });
});

it('of two runs that have loaded the same turn, one commits, and the other works nothing and counts no attempt', async () => {
  for (const [n, id] of ['a', 'b'].entries()) await arrive(id, 'one', n);
  let both: () => void = () => {};
  const met = new Promise<void>((resolve) => {
    both = resolve;
  });
  let asked = 0;
  const together = defineHandler({
    async handle(event, tools) {
      const changes = await appends.handle(event as never, tools);
      if (++asked === 2) both();
      if (asked <= 2) await met;
      return changes;
    },
  });
  await Promise.all([consume(['a'], together), consume(['a'], together)]);
  expect(await lists()).toEqual({ one: 'a,b' });
  expect([await statusOf('a'), await statusOf('b')]).toEqual([
    { status: 'done', attempts: 1 },
    { status: 'done', attempts: 1 },
  ]);
});

it('a run that ended between its commit and its look is made up for: its ticket comes again, and the next gets one', async () => {
  await arrive('a', 'one', 0);
  await arrive('b', 'one', 1);
  await sql(`update webhooks.events set status = 'done', completions = 1 where event_id = 'a'`);
  const { settled, next } = await consume(['a'], adds, 2);
  expect([settled, next, await lists()]).toEqual([['acked'], ['b'], {}]);
  // The first delivery of a ticket says that another run has worked it: that one looks.
  expect((await consume(['a'], adds)).next).toEqual([]);
});

it('the ticket of a finished event is kept until the queue has taken that of the next', async () => {
  await arrive('a', 'one', 0);
  await arrive('b', 'one', 1);
  await sql(`update webhooks.events set status = 'done', completions = 1 where event_id = 'a'`);
  const next = Object.assign(new FakeQueue(), { refuses: true });
  expect((await consume(['a'], adds, 2, { next })).settled).toEqual([1]);
});

it('the sweep sends a ticket only for the first event of each key', async () => {
  for (const [n, id] of ['a', 'b', 'c'].entries()) await arrive(id, 'one', n);
  await arrive('x', 'two', 0);
  const { events } = await takeOverdue(database.consumer, new Date(START + 3_600_000));
  expect(events.map(({ eventId }) => eventId).sort()).toEqual(['a', 'x']);
});
