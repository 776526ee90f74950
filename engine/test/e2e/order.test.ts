// Events with an order key: which is worked when, by any number of consumers.
import { sql as statement } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { takeOverdue } from '../../src/db/sweep.ts';
import { defineHandler, type Handler, must, PermanentError } from '../../src/kit/index.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { AdversarialQueue } from '../faults/adversarial-queue.ts';
import { randomFrom } from '../faults/random.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage, hurried } from './in-node.ts';

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
    expect(lines.map(({ event_id, outcome }) => `${event_id} ${outcome}`).sort()).toEqual([
      'a done',
      'b done',
      'c done',
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

it.each([
  ['that fails', new Error('no'), { a: 'done', b: 'pending', c: 'pending' }, ['b']],
  ['that is parked and not waited for', new PermanentError('no'), { a: 'done', b: 'parked', c: 'done' }, []],
])(
  'an event %s in the middle of a commit is not left to the sweep, and neither are those behind it',
  async (_what, error, statuses, next) => {
    for (const [n, id] of ['a', 'b', 'c'].entries()) await arrive(id, 'one', n);
    const refused = defineHandler({
      handle: (event, tools) =>
        event.id === 'b'
          ? [must(tools.db.execute(statement`select 1 where false`), error)]
          : adds.handle(event as never, tools),
    });
    const consumed = await consume(['a'], refused, 1, { orderKey: { of: KEY, afterParked: 'continue' } });
    expect(consumed.next).toEqual(next);
    const rows = await sql<{ id: string; status: string }>('select event_id as id, status from webhooks.events');
    expect(Object.fromEntries(rows.map(({ id, status }) => [id, status]))).toEqual(statuses);
  },
);

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

it('a dead letter of a source that does not wait for what is parked lets the next event go on', async () => {
  await arrive('a', 'one', 0);
  await arrive('b', 'one', 1);
  const continues = { queue: 'events-dead' as const, orderKey: { of: KEY, afterParked: 'continue' as const } };
  expect((await consume(['a'], adds, 1, continues)).next).toEqual(['b']);
  await sql(`update webhooks.events set status = 'pending' where event_id = 'a'`);
  expect((await consume(['a'], adds, 1, { queue: 'events-dead' })).next).toEqual([]);
});

it('an event whose body is gone is parked, and waited for as any parked event', async () => {
  await arrive('a', 'one', 0);
  await arrive('b', 'one', 1);
  await sql(`delete from webhooks.bodies where event_id = 'a'`);
  await consume(['a', 'b'], adds);
  expect([await statusOf('a'), await lists()]).toEqual([{ status: 'parked', attempts: 0 }, {}]);
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

it('a run whose key another run has worked since commits nothing and counts no attempt', async () => {
  await arrive('b', 'one', 1);
  const { promise: hasRead, resolve: read } = Promise.withResolvers<void>();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const slow = defineHandler({
    async handle(event, tools) {
      const changes = await appends.handle(event as never, tools);
      read();
      await mayCommit;
      return changes;
    },
  });
  const late = consume(['b'], slow);
  await hasRead;
  // An earlier event is claimed while the later one runs. Both runs have read the same list.
  await arrive('a', 'one', 0);
  await arrive('c', 'one', 2);
  await consume(['a'], exceptOf('c', new Error('no'), appends));
  commit();
  const { lines, next } = await late;
  expect(lines).toMatchObject([{ event_id: 'b', outcome: 'not_its_turn' }]);
  // The other run has seen to the ticket of what comes next. A second one would only compete with it.
  expect(next).toEqual([]);
  expect(await lists()).toEqual({ one: 'a,b' });
  expect(await statusOf('b')).toEqual({ status: 'done', attempts: 1 });
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
  await arrive('p', 'three', 0);
  await arrive('q', 'three', 1);
  await consume(['p'], exceptOf('p', new PermanentError('no'), adds));
  const { events } = await takeOverdue(database.consumer, new Date(START + 3_600_000));
  expect(events.map(({ eventId }) => eventId).sort()).toEqual(['a', 'x']);
});

describe('three consumers, whose queue repeats and delays, whose answers get lost, and whose runs end before they commit', () => {
  const CUSTOMERS = ['one', 'two', 'three', 'four', 'five'];
  const EVENTS = 60;
  /** A second passes in a millisecond. */
  const started = Date.now();
  const soon = () => new Date(START + 3_600_000 + (Date.now() - started) * 1000);

  /** Works until nothing is pending. Of the handler's runs, one in twenty throws, and one in forty never ends. */
  async function workAll(seed: number, arriving: () => Promise<void> | undefined): Promise<void> {
    const random = randomFrom(seed);
    const options = {
      name: 'events',
      maxBatchSize: 10,
      maxRetries: Number.POSITIVE_INFINITY,
      repeats: 1,
      longestWait: 20,
    };
    const queue = new AdversarialQueue(options, random, () => Date.now());
    const EVENTS = {
      async sendBatch(all: { body: unknown }[]) {
        for (const { body } of all) queue.write(body);
      },
    };
    for (const { id } of await sql<{ id: string }>(`select event_id as id from webhooks.events`)) {
      queue.write({ version: 1, source: 'test', eventId: id });
    }
    const never = new Promise<never>(() => {});
    database.stack.neon.fault = () => {
      const chance = random();
      return chance < 0.03 ? { kind: 'reply dropped' } : chance < 0.06 ? { kind: 'server error' } : undefined;
    };
    const consumeSome = async () => {
      const taken = queue.take();
      const messages = taken.map(({ stored }) => new FakeMessage(stored.id, stored.deliveries, stored.body));
      const { promise: isKilled, resolve: kill } = Promise.withResolvers<boolean>();
      const careless = defineHandler({
        async handle(event, tools) {
          const chance = random();
          if (chance < 0.025) {
            kill(true);
            return never;
          }
          if (chance < 0.075) throw new Error('no');
          return (chance < 0.5 ? appends : adds).handle(event as never, tools);
        },
      });
      const working = consumeInNode(messages, careless, database.stack.workerUrls.consumer, {
        orderKey: KEY,
        next: EVENTS as never,
        now: soon,
        handlerMs: 3_600_000,
      });
      const wasKilled = await Promise.race([isKilled, working.then(() => false)]);
      for (const [n, one] of taken.entries()) one.settled = wasKilled ? undefined : messages[n]?.settled;
      queue.giveBack(taken, !wasKilled);
    };
    const isDone = async () =>
      (await sql(`select 1 from webhooks.events where status = 'pending' limit 1`)).length === 0 && !arriving();
    while (!(await isDone())) {
      await arriving();
      await Promise.all([1, 2, 3].map(() => (queue.visible.length > 0 ? consumeSome() : undefined)));
      const overdue = await takeOverdue(database.db, soon()).catch(() => ({ events: [] }));
      for (const ticket of overdue.events) queue.write({ version: 1, ...ticket });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    database.stack.neon.fault = undefined;
  }

  const numbered = Array.from({ length: EVENTS }, (_, n) => `e${String(n).padStart(3, '0')}`);
  const customerOf = (n: number) => CUSTOMERS[(n * 7) % CUSTOMERS.length] ?? '';

  it('work each event once, and those of one key in order', async () => {
    for (const [n, id] of numbered.entries()) await arrive(id, customerOf(n), n);
    await hurried(() => workAll(1, () => undefined));
    const expected = CUSTOMERS.map((one) => [one, numbered.filter((_, n) => customerOf(n) === one).join()]);
    expect(await lists()).toEqual(Object.fromEntries(expected));
  });

  it('say which are late, if events are claimed late', async () => {
    const random = randomFrom(4);
    const shuffled = numbered.map((id, n) => ({ id, n, at: n + 20 * random() })).sort((a, b) => a.at - b.at);
    const arriving = () => {
      const some = shuffled.splice(0, 10);
      if (some.length === 0) return undefined;
      return Promise.all(
        some.map(({ id, n }) => arrive(id, customerOf(n), n).catch(() => shuffled.push({ id, n, at: 0 }))),
      ).then(() => {});
    };
    await hurried(() => workAll(5, arriving));
    const worked = Object.values(await lists()).map((ids) => ids.split(','));
    expect(
      worked
        .flat()
        .map((id) => id.slice(0, 4))
        .sort(),
    ).toEqual(numbered);
    for (const ids of worked) {
      const isLate = ids.map((id, n) => ids.slice(0, n).some((other) => other.slice(0, 4) > id.slice(0, 4)));
      expect(ids.map((id) => id.endsWith(' late'))).toEqual(isLate);
    }
  });
});
