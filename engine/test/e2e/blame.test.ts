import { type SQL, sql as statement } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { defineHandler } from '../../src/kit/index.ts';
import { pack } from '../../src/queue/forwarded.ts';
import { useDatabase, WAIT } from '../database.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage, hurried } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

/** The handler of `bad` returns this, and every other handler a correct statement. */
let change: SQL;
/** The handler of `bad` awaits this first, which takes a minute. */
let read: SQL;
let clock: number;

const handler = {
  ...defineHandler({
    async handle({ id }, { db }) {
      if (id === 'bad') {
        clock += 60_000;
        await db.execute(read);
      }
      return [db.execute(id === 'bad' ? change : statement`insert into fixture.balances values (${id}, 1)`)];
    },
  }),
  attempts: 2,
};

const consume = (tickets: Record<string, number>) => {
  const messages = Object.entries(tickets).map(([id, ticketDeliveries]) => new FakeMessage(id, ticketDeliveries));
  return consumeInNode(messages, handler, database.stack.workerUrls.consumer, { now: () => new Date(clock) });
};
const claimAll = (...ids: string[]) => claim(database.consumer, claimRequest(ids, { receivedAt: new Date() }));
const waitsAreOver = () => sql('update webhooks.events set not_before = null');
const eventsWith = async (ids: string[]) =>
  sql<{ event_id: string; status: string; attempts: number; last_error: string | null }>(
    'select event_id, status, attempts, last_error, not_before from webhooks.events where event_id = any($1) order by 1',
    [ids],
  );
const forwarded = async (id: string, deliveries: number) =>
  new FakeMessage(id, deliveries, await pack(claimRequest([id], { receivedAt: new Date() })));
const bad = async () => (await eventsWith(['bad']))[0];

beforeEach(async () => {
  await sql('delete from webhooks.events; delete from fixture.balances');
  await sql(`create or replace function raise_error(code text) returns void language plpgsql as
    $$ begin raise exception using errcode = code, message = 'raised by a test'; end $$`);
  change = statement`select 1`;
  read = statement`select 1`;
  clock = Date.now();
});

afterEach(() => {
  database.stack.neon.fault = undefined;
});

/** One of those after which Postgres may be away, and those that are about locks. All others: engine/test/db/errors.test.ts. */
const CODES = ['57P01', '40001', '40P01'];

describe('while Postgres works', () => {
  it.each(CODES)(
    'an event whose change always ends in %s is charged once it has failed alone, and parked after its last attempt',
    async (code) => {
      change = statement`select raise_error(${code})`;
      await claimAll('a', 'bad', 'c');
      const first = await consume({ a: 1, bad: 1, c: 1 });
      // A deadlock or a serialization failure says at once that it is about one of them.
      const alone = code.startsWith('40');
      expect(first.map(({ settled }) => settled === 'acked')).toEqual([alone, false, alone]);
      expect(await bad()).toMatchObject({ status: 'pending', attempts: alone ? 1 : 0 });
      // Together again in case that Postgres was away, and then alone.
      for (const deliveries of [2, 3]) await consume({ a: deliveries, bad: deliveries, c: deliveries });
      expect(await bad()).toMatchObject({ status: 'pending', attempts: 1, last_error: expect.stringContaining(code) });
      expect((await eventsWith(['a', 'c'])).map(({ status }) => status)).toEqual(['done', 'done']);
      await waitsAreOver();
      await consume({ bad: 4 });
      expect(await bad()).toMatchObject({ status: 'parked', attempts: 2, last_error: expect.stringContaining(code) });
    },
  );

  it('an event whose handler’s query always ends in 57P01 is charged once it is worked alone', async () => {
    read = statement`select raise_error('57P01')`;
    await claimAll('a', 'bad');
    await consume({ a: 1, bad: 1 });
    expect(await eventsWith(['a', 'bad'])).toMatchObject([{ status: 'done' }, { status: 'pending', attempts: 0 }]);
    await consume({ bad: 2 });
    // Its wait begins when the handler has ended.
    const notBefore = new Date(clock + 3000);
    expect(await bad()).toMatchObject({
      attempts: 1,
      last_error: expect.stringContaining('57P01'),
      not_before: notBefore,
    });
  });

  it('an event whose change takes longer than a request may is charged', async () => {
    change = statement`select pg_sleep(60)`;
    await claimAll('bad');
    // The time of that request is up as soon as Neon has it.
    let end = () => {};
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const limit = new AbortController();
      end = () => limit.abort(new DOMException('', 'TimeoutError'));
      return limit.signal;
    });
    database.stack.neon.fault = ({ queries }) => {
      if (queries?.some(({ query }) => query.includes('pg_sleep'))) end();
      return undefined;
    };
    await consume({ bad: 2 }).finally(() => timeout.mockRestore());
    expect(await bad()).toMatchObject({ attempts: 1, last_error: 'Postgres did not answer in time' });
  });

  it('an event whose change crashes Postgres is charged when Postgres is back two seconds later', async () => {
    change = statement`select 'crash'`;
    let downUntil = 0;
    database.stack.neon.fault = ({ queries }) => {
      // Two seconds, hurried.
      if (queries?.some(({ query }) => query.includes('crash'))) downUntil = Date.now() + 20;
      return Date.now() < downUntil ? { kind: 'refused' } : undefined;
    };
    await claimAll('bad');
    const [message] = await hurried(() => consume({ bad: 2 }));
    expect(typeof message?.settled).toBe('number');
    expect(await bad()).toMatchObject({
      attempts: 1,
      last_error: expect.stringMatching(/^Postgres could not be reached/),
    });
  });
});

describe('while Postgres does not work', () => {
  it('an event that nobody asked for is not charged if its completion fails, and is ignored afterwards', async () => {
    await claim(database.consumer, claimRequest([newEvent('bad', { type: 'unasked' })], { receivedAt: new Date() }));
    database.stack.neon.fault = ({ queries }) => (queries ? { kind: 'connection died' } : undefined);
    await consume({ bad: 1 });
    expect(await bad()).toMatchObject({ status: 'pending', attempts: 0, last_error: null });
    database.stack.neon.fault = undefined;
    await consume({ bad: 2 });
    expect(await bad()).toMatchObject({ status: 'ignored' });
  });

  it('no event is charged if Postgres refuses the record of its failure too', async () => {
    // The last one never passes, so its record is tried once, and the others' four times.
    const ids = [...CODES, '23514'].map((code) => `code_${code}`);
    await claimAll(...ids);
    let records = 0;
    database.stack.neon.fault = ({ query }) => {
      if (query?.includes('last_error')) records++;
      return undefined;
    };
    await sql(`create or replace function refuse() returns trigger language plpgsql as
      $$ begin raise exception using errcode = split_part(new.event_id, '_', 2); end $$`);
    await sql('create trigger refuse before update on webhooks.events for each row execute function refuse()');
    try {
      const settled = (await hurried(() => Promise.all(ids.map((id) => consume({ [id]: 2 }))))).map(
        ([message]) => message?.settled,
      );
      expect(settled.every((delay) => typeof delay === 'number')).toBe(true);
      expect(records).toBe(4 * CODES.length + 1);
    } finally {
      await sql('drop trigger refuse on webhooks.events');
    }
    expect((await eventsWith(ids)).every(({ status, attempts }) => status === 'pending' && attempts === 0)).toBe(true);
  });

  it('no event is charged if the project is full, although small updates still succeed', async () => {
    change = statement`select raise_error('53100')`;
    await claimAll('bad', 'c');
    await consume({ bad: 2, c: 2 });
    const messages = await consume({ bad: 3, c: 4 });
    expect(messages.map(({ settled }) => typeof settled)).toEqual(['number', 'string']);
    expect(await eventsWith(['bad', 'c'])).toMatchObject([{ status: 'pending', attempts: 0 }, { status: 'done' }]);
  });

  it('only the first event is charged if Postgres goes away while the events of a group are committed alone', async () => {
    // After a deadlock they are committed alone at once.
    change = statement`select raise_error('40P01')`;
    let commits = 0;
    database.stack.neon.fault = ({ queries = [] }) => {
      // A handler's query is a batch of one.
      if (queries.length < 2) return undefined;
      commits++;
      return commits > 1 ? { kind: 'refused' } : undefined;
    };
    const ids = ['a', 'bad', 'c', 'd'];
    await claimAll(...ids);
    const messages = await consume({ a: 1, bad: 1, c: 1, d: 1 });
    expect(messages.map(({ settled }) => typeof settled)).toEqual(ids.map(() => 'number'));
    expect((await eventsWith(ids)).map(({ attempts }) => attempts)).toEqual([1, 0, 0, 0]);
    expect(commits).toBe(2);
  });
});

it('a dead letter that kills its isolate keeps no other from being settled, neither the first time nor later', async () => {
  await claimAll('dead_1', 'dead_2');
  // The claim of this one never returns, as if the isolate had died in it.
  database.stack.neon.fault = ({ params }) =>
    JSON.stringify(params).includes('killer') ? { kind: 'slow', ms: 60_000 } : undefined;
  const deliver = async (...messages: FakeMessage[]) => {
    const others = messages.filter(({ id }) => id !== 'killer');
    void consumeInNode(messages, handler, database.stack.workerUrls.consumer, { queue: 'events-dead' });
    await expect.poll(() => others.map(({ settled }) => settled), WAIT).toEqual(others.map(() => 'acked'));
  };
  await deliver(await forwarded('killer', 1), new FakeMessage('dead_1'));
  // Delivered again: the killer has been delivered more often.
  await deliver(await forwarded('killer', 3), await forwarded('good', 2), new FakeMessage('dead_2', 2));
  expect((await eventsWith(['dead_1', 'dead_2', 'good'])).map(({ status }) => status)).toEqual([
    'parked',
    'parked',
    'pending',
  ]);
});
