import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { pack } from '../../../src/queue/forwarded.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import {
  BROKEN_DELIVERIES,
  balanceOf,
  claimEvents,
  consume,
  empty,
  events,
  forwardedWith,
  logged,
  query,
  ticket,
  waitsAreOver,
} from './in-workerd.ts';

const increments = (id: string, customer = 'c') => ({ id, type: 'increments', data: { customer } });

beforeEach(empty);

describe('tickets', () => {
  it('a ticket is acknowledged after its event is done', async () => {
    await claimEvents(increments('a'));
    expect(await consume([ticket('a')])).toEqual({ outcome: 'ok', acked: ['0'], retried: [] });
    expect(await events()).toEqual([{ id: 'a', status: 'done', attempts: 1, failure: null, last_error: null }]);
    expect(await balanceOf('c')).toBe('1');
  });

  it('twenty concurrent runs of one event change the database once', async () => {
    await claimEvents(increments('a'));
    const runs = await Promise.all(Array.from({ length: 20 }, () => consume([ticket('a')])));
    expect(runs.every(({ acked }) => acked.length === 1)).toBe(true);
    expect(await balanceOf('c')).toBe('1');
    expect(await events()).toEqual([{ id: 'a', status: 'done', attempts: 1, failure: null, last_error: null }]);
  });

  it('a ticket that is twice in a batch works its event once, and the other events too', async () => {
    await claimEvents(increments('a'), increments('b'));
    expect((await consume([ticket('a'), ticket('b'), ticket('a')])).acked).toEqual(['0', '1', '2']);
    expect(await balanceOf('c')).toBe('2');
  });

  it('a ticket of an event that is done is acknowledged, and changes nothing', async () => {
    await claimEvents(increments('a'));
    await consume([ticket('a')]);
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await balanceOf('c')).toBe('1');
  });

  it('a ticket of an unknown event is acknowledged', async () => {
    expect((await consume([ticket('gone')])).acked).toEqual(['0']);
  });

  it('an unreadable message is retried, and its neighbours are worked', async () => {
    await claimEvents(increments('a'));
    const unreadable = { body: new Uint8Array([1, 2, 3]).buffer };
    const { acked, retried } = await consume([{ body: 'text' }, { body: null }, unreadable, ticket('a')]);
    expect([acked, retried.map(({ id }) => id)]).toEqual([['3'], ['0', '1', '2']]);
    expect(await balanceOf('c')).toBe('1');
  });

  it('an event that nobody asked for is ignored, and its summary and its log line say so', async () => {
    await claimEvents({ id: 'a', type: 'constructor' });
    const lines = await logged(() => consume([ticket('a')]));
    const summary = 'no handler for test/constructor';
    expect(lines).toMatchObject([{ event_id: 'a', outcome: 'ignored', reason: summary }]);
    expect(await query(sql`select status, summary from webhooks.events`)).toEqual([{ status: 'ignored', summary }]);
  });

  it('an event without a handler is parked if its source is gone, its type is asked for, or it has failed before', async () => {
    await claimEvents(
      { id: 'a', type: 'x', source: 'toString' },
      { id: 'b', type: 'asked for' },
      { id: 'c', type: 'payed' },
      { id: 'd', type: 'payed' },
    );
    // As after an operator's retry, of an event that had failed and of a suspected replay.
    await query(sql`update webhooks.events set failure = 'handler' where event_id = 'c'`);
    await query(sql`update webhooks.events set failure = 'replay' where event_id = 'd'`);
    await consume([ticket('a', 'toString'), ticket('b'), ticket('c'), ticket('d')]);
    const parked = { status: 'parked', failure: 'no_handler' };
    const problem = (text: string) => `PermanentError: no handler for ${text}`;
    expect(await events()).toMatchObject([
      { id: 'a', ...parked, last_error: problem('toString/x, and src/app/sources.ts has no such source') },
      { id: 'b', ...parked, last_error: problem('test/asked for, although src/app/sources.ts names this type') },
      { id: 'c', ...parked, last_error: problem('test/payed, although it had one when it failed') },
      { id: 'd', status: 'ignored' },
    ]);
  });
});

describe('failures', () => {
  it('a failure is counted, its error is kept, and the event is retried after a wait with jitter', async () => {
    await claimEvents({ id: 'a', type: 'fails' });
    const { acked, retried } = await consume([ticket('a')]);
    expect(acked).toEqual([]);
    expect(retried[0]?.delaySeconds).toBeGreaterThanOrEqual(1);
    expect(retried[0]?.delaySeconds).toBeLessThanOrEqual(5);
    expect(await events()).toEqual([
      {
        id: 'a',
        status: 'pending',
        attempts: 1,
        failure: 'handler',
        last_error: 'TypeError: canary-9d1e is not a function',
      },
    ]);
  });

  it('RetryLater retries the event after the requested time', async () => {
    await claimEvents({ id: 'a', type: 'asks for time' });
    expect((await consume([ticket('a')])).retried).toEqual([{ id: '0', delaySeconds: 90 }]);
    expect(await events()).toEqual([expect.objectContaining({ failure: 'retry_later' })]);
  });

  it('a second ticket during the wait does not run the handler, and counts no attempt', async () => {
    await claimEvents({ id: 'a', type: 'asks for time' });
    await consume([ticket('a')]);
    for (let second = 0; second < 20; second++) {
      const { acked, retried } = await consume([ticket('a')]);
      expect(acked).toEqual([]);
      expect(retried[0]?.delaySeconds).toBeGreaterThan(80);
    }
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);
  });

  it('a statement that can not be built fails only its own event', async () => {
    await claimEvents(increments('a'), { id: 'b', type: 'builds nonsense' });
    const { acked, retried } = await consume([ticket('a'), ticket('b')]);
    expect([acked, retried.length]).toEqual([['0'], 1]);
    expect(await events()).toEqual([
      expect.objectContaining({ id: 'a', status: 'done' }),
      expect.objectContaining({
        id: 'b',
        status: 'pending',
        attempts: 1,
        failure: 'changes',
        last_error: 'RangeError: Invalid time value',
      }),
    ]);
  });

  it('a violation of another check constraint is a failure, not a duplicate', async () => {
    await claimEvents({ id: 'a', type: 'breaks a check' });
    expect((await consume([ticket('a')])).retried).toHaveLength(1);
    const [row] = await events();
    expect(row).toMatchObject({ status: 'pending', attempts: 1, failure: 'database' });
    expect(row?.last_error).toContain('another_check');
  });

  it('an event with two effects of the same name is parked, and neither is enqueued', async () => {
    await claimEvents({ id: 'a', type: 'has two effects of one name' });
    await consume([ticket('a')]);
    expect(await events()).toEqual([expect.objectContaining({ status: 'parked', failure: 'changes' })]);
    expect(await query(sql`select name from webhooks.effects`)).toEqual([]);
  });

  it('an event whose body is gone is parked', async () => {
    await claimEvents(increments('a'));
    await query(sql`delete from webhooks.bodies`);
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([
      expect.objectContaining({
        status: 'parked',
        failure: 'body_gone',
        last_error: expect.stringContaining('the body of this event is gone'),
      }),
    ]);
  });

  it('a handler that hangs fails its event after the time limit, and its neighbours are done', async () => {
    await claimEvents(increments('a'), { id: 'b', type: 'hangs' });
    const { acked, retried } = await consume([ticket('a'), ticket('b')]);
    expect([acked, retried.length]).toEqual([['0'], 1]);
    expect((await events())[1]).toMatchObject({
      failure: 'time_limit',
      last_error: 'Error: the handler took longer than 0.2 s',
    });
  });

  it('an event that has failed before is worked after the others, because its handler may hang again', async () => {
    await claimEvents(increments('b'), { id: 'a', type: 'hangs' });
    await query(sql`update webhooks.events set attempts = 1 where event_id = 'a'`);
    const lines = await logged(() => consume([ticket('a'), ticket('b')]));
    expect(lines).toMatchObject([
      { event_id: 'b', outcome: 'done' },
      { event_id: 'a', outcome: 'retry' },
    ]);
    expect(await events()).toMatchObject([
      { id: 'a', status: 'pending', attempts: 2 },
      { id: 'b', status: 'done' },
    ]);
  });

  it('a PermanentError parks the event at once', async () => {
    await claimEvents({ id: 'a', type: 'fails for good' });
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([
      {
        id: 'a',
        status: 'parked',
        attempts: 1,
        failure: 'permanent',
        last_error: 'PermanentError: no such customer',
      },
    ]);
  });

  it('a payload that does not match the schema parks the event with the path, but without the value', async () => {
    await claimEvents({ id: 'a', type: 'increments', data: { customer: ['canary'] } });
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    const [row] = await events();
    expect(row).toMatchObject({ status: 'parked', failure: 'schema' });
    expect(row?.last_error).toContain('customer');
    expect(row?.last_error).not.toContain('canary');
    expect(await query(sql`select failed_paths from webhooks.events`)).toEqual([{ failed_paths: ['customer'] }]);
  });

  it('a payload that does not match the schema at a key with NUL parks only its own event', async () => {
    await claimEvents(increments('a'), { id: 'b', type: 'has numbers by key', data: { 'a\0b': 'one' } });
    expect((await consume([ticket('a'), ticket('b')])).acked).toEqual(['0', '1']);
    expect((await events()).map(({ status }) => status)).toEqual(['done', 'parked']);
  });

  it('a body that is not JSON parks the event', async () => {
    await claimEvents({ id: 'a', type: 'increments', raw: 'customer=c' });
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([
      expect.objectContaining({
        status: 'parked',
        failure: 'schema',
        last_error: 'PermanentError: the body is not JSON',
      }),
    ]);
  });

  it('the log lines of failed events name the failure, and never the message of an error', async () => {
    await claimEvents({ id: 'a', type: 'fails' }, { id: 'b', type: 'fails for good' });
    const lines = await logged(() => consume([ticket('a'), ticket('b')]));
    expect(lines).toMatchObject([
      { step: 'completion', event_id: 'a', outcome: 'retry', failure: 'handler', reason: 'TypeError' },
      { step: 'completion', event_id: 'b', outcome: 'parked', failure: 'permanent', reason: 'PermanentError' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  it('an event is parked after the twelfth failed attempt', async () => {
    await claimEvents({ id: 'a', type: 'fails' });
    for (let attempt = 1; attempt < 12; attempt++) {
      expect((await consume([ticket('a')])).acked).toEqual([]);
      await waitsAreOver();
    }
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([expect.objectContaining({ status: 'parked', attempts: 12 })]);
  });

  it('an event is parked after as many failed attempts as its handler allows', async () => {
    await claimEvents({ id: 'a', type: 'has two tries' });
    await consume([ticket('a')]);
    await waitsAreOver();
    await consume([ticket('a')]);
    expect(await events()).toEqual([expect.objectContaining({ status: 'parked', attempts: 2 })]);
  });

  it('the first failure of an event counts one attempt, however often its ticket was delivered before', async () => {
    await claimEvents({ id: 'a', type: 'fails' });
    expect((await consume([{ ...ticket('a'), attempts: 50 }])).retried).toHaveLength(1);
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);
  });

  it('an event whose commit fails enqueues no effect', async () => {
    await claimEvents({ id: 'a', type: 'has an effect and breaks a constraint' });
    expect((await consume([ticket('a')])).retried).toHaveLength(1);
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);
    expect(await query(sql`select name from webhooks.effects`)).toEqual([]);
  });

  it('an error that quotes a secret is recorded with the name of the secret', async () => {
    await claimEvents({ id: 'a', type: 'quotes a secret' });
    await consume([ticket('a')]);
    expect(await events()).toMatchObject([{ last_error: 'TypeError: Invalid URL: [DATABASE_URL]/receipts' }]);
  });

  it('an error whose message holds NUL is recorded', async () => {
    await claimEvents({ id: 'a', type: 'throws NUL' });
    expect((await consume([ticket('a')])).retried).toHaveLength(1);
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);
  });

  it('failures of some events leave the other events of the batch done', async () => {
    await claimEvents(
      increments('a'),
      { id: 'b', type: 'breaks a constraint' },
      increments('c'),
      { id: 'd', type: 'fails' },
      { id: 'e', type: 'fails for good' },
    );
    const { acked, retried } = await consume(['a', 'b', 'c', 'd', 'e'].map((id) => ticket(id)));
    expect(acked).toEqual(['0', '2', '4']);
    expect(retried.map(({ id }) => id).toSorted()).toEqual(['1', '3']);
    expect((await events()).map(({ status }) => status)).toEqual(['done', 'pending', 'done', 'pending', 'parked']);
    expect(await balanceOf('c')).toBe('2');
  });

  it('while Postgres is away, tickets wait longer each time, and no attempt is counted', async () => {
    await claimEvents(increments('a'));
    await query(sql`alter table webhooks.bodies rename to hidden`);
    try {
      const delays = [];
      for (const attempts of [1, 5, 9]) {
        const { retried } = await consume(Array.from({ length: 20 }, () => ({ ...ticket('a'), attempts })));
        expect(retried).toHaveLength(20);
        delays.push(Math.max(...retried.map(({ delaySeconds = 0 }) => delaySeconds)));
      }
      expect(delays).toEqual(delays.toSorted((a, b) => a - b));
      expect(delays[0]).toBeLessThanOrEqual(5);
      expect(delays[2]).toBeGreaterThan(80);
    } finally {
      await query(sql`alter table webhooks.hidden rename to bodies`);
    }
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);
  });
});

describe('forwarded deliveries', () => {
  const forwarded = async (id: string) => {
    const event = newEvent(id, { type: 'increments', body: '{"customer":"c"}', occurredAt: new Date(0) });
    const bytes = await pack(claimRequest([event], { headers: { a: 'b' }, receivedAt: new Date(1000) }));
    return { body: bytes?.buffer };
  };

  it('a forwarded delivery is claimed and worked', async () => {
    expect((await consume([await forwarded('a')])).acked).toEqual(['0']);
    expect(await balanceOf('c')).toBe('1');
    const rows = await query(sql`
      select occurred_at, received_at, headers from webhooks.events natural join webhooks.bodies`);
    expect(rows).toEqual([
      { occurred_at: '1970-01-01 00:00:00+00', received_at: '1970-01-01 00:00:01+00', headers: { a: 'b' } },
    ]);
  });

  it('while Postgres is away, a ticket is dropped after 20 deliveries, but a forwarded delivery never', async () => {
    await claimEvents(increments('a'));
    await query(sql`alter table webhooks.bodies rename to hidden`);
    try {
      const tickets = [19, 20].map((attempts) => ({ ...ticket('a'), attempts }));
      const { acked, retried } = await consume([...tickets, { ...(await forwarded('b')), attempts: 99 }]);
      expect([acked, retried.map(({ id }) => id).toSorted()]).toEqual([['1'], ['0', '2']]);
    } finally {
      await query(sql`alter table webhooks.hidden rename to bodies`);
    }
  });

  it('a forwarded delivery that unpacks to more than an isolate has is retried, and its neighbours are worked', async () => {
    const huge = await forwardedWith({ eventId: 'huge', body: 'x'.repeat(90_000_000) });
    expect((huge.body as ArrayBuffer).byteLength).toBeLessThan(128_000);
    const { acked, retried } = await consume([huge, await forwarded('a'), await forwarded('b')]);
    expect([acked, retried.map(({ id }) => id)]).toEqual([['1', '2'], ['0']]);
    expect((await events()).map(({ id, status }) => [id, status])).toEqual([
      ['a', 'done'],
      ['b', 'done'],
    ]);
  });

  it.each(BROKEN_DELIVERIES)(
    'a forwarded delivery with %s is retried, and its neighbours are worked',
    async (...broken) => {
      await claimEvents(increments('n'));
      const [, event, delivery] = broken;
      const { acked, retried } = await consume([await forwardedWith(event, delivery), ticket('n'), ticket('a\0b')]);
      expect([acked, retried.map(({ id }) => id)]).toEqual([['1'], ['0', '2']]);
      expect((await events()).map(({ id, status }) => [id, status])).toEqual([['n', 'done']]);
    },
  );

  it('a forwarded delivery whose event is already claimed is worked once, together with its copies', async () => {
    await claimEvents(increments('a'));
    expect((await consume([await forwarded('a'), ticket('a'), await forwarded('a')])).acked).toEqual(['0', '1', '2']);
    expect(await balanceOf('c')).toBe('1');
  });
});

it('a handler is told the time of receipt instead of a time more than a day later, which would be newer than all others', async () => {
  const hour = 3_600_000;
  const tomorrow = new Date(Date.now() + 23 * hour);
  await claimEvents(
    { id: 'a', type: 'notes its time', occurredAt: new Date('9999-12-31') },
    { id: 'b', type: 'notes its time', occurredAt: tomorrow },
  );
  await consume([ticket('a'), ticket('b')]);
  const rows = await query(sql`
    select customer as id, changed_at = received_at as "isReceipt", changed_at = occurred_at as "isItsOwn"
    from fixture.balances join webhooks.events on event_id = customer order by 1`);
  expect(rows).toEqual([
    { id: 'a', isReceipt: true, isItsOwn: false },
    { id: 'b', isReceipt: false, isItsOwn: true },
  ]);
});

it('a batch whose bodies are too large for memory together is worked in several batches', async () => {
  const data = { customer: 'c', pad: 'x'.repeat(900_000) };
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}`);
  await claimEvents(...ids.map((id) => ({ id, type: 'increments', data })));
  const first = await consume(ids.map((id) => ticket(id)));
  expect(first.retried).not.toEqual([]);
  expect(first.acked.length).toBeGreaterThanOrEqual(18);
  await consume(first.retried.map(({ id }) => ticket(ids[Number(id)] ?? '')));
  expect(await balanceOf('c')).toBe('20');
});
