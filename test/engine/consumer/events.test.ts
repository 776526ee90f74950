import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { pack } from '../../../src/queue/forwarded.ts';
import { claimable } from '../claimable.ts';
import {
  BROKEN_DELIVERIES,
  balanceOf,
  claimEvents,
  consume,
  empty,
  events,
  forwardedWith,
  query,
  ticket,
  waitsAreOver,
} from './in-workerd.ts';

const increments = (id: string, customer = 'c') => ({ id, type: 'increments', data: { customer } });

beforeEach(empty);

describe('a ticket', () => {
  it('is worked and acked', async () => {
    await claimEvents(increments('a'));
    expect(await consume([ticket('a')])).toEqual({ outcome: 'ok', acked: ['0'], retried: [] });
    expect(await events()).toEqual([{ id: 'a', status: 'done', attempts: 1, last_error: null }]);
    expect(await balanceOf('c')).toBe('1');
  });

  it('run twenty times at the same moment has one effect', async () => {
    await claimEvents(increments('a'));
    const runs = await Promise.all(Array.from({ length: 20 }, () => consume([ticket('a')])));
    expect(runs.every(({ acked }) => acked.length === 1)).toBe(true);
    expect(await balanceOf('c')).toBe('1');
    expect(await events()).toEqual([{ id: 'a', status: 'done', attempts: 1, last_error: null }]);
  });

  it('that comes twice in a batch, beside others, costs nobody anything', async () => {
    await claimEvents(increments('a'), increments('b'));
    expect((await consume([ticket('a'), ticket('b'), ticket('a')])).acked).toEqual(['0', '1', '2']);
    expect(await balanceOf('c')).toBe('2');
  });

  it('of an event that is done already is acked', async () => {
    await claimEvents(increments('a'));
    await consume([ticket('a')]);
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await balanceOf('c')).toBe('1');
  });

  it('of an event that nobody knows is acked', async () => {
    expect((await consume([ticket('gone')])).acked).toEqual(['0']);
  });

  it('that nobody can read yet waits, and its neighbours are worked', async () => {
    await claimEvents(increments('a'));
    const unreadable = { body: new Uint8Array([1, 2, 3]).buffer };
    const { acked, retried } = await consume([{ body: 'text' }, { body: null }, unreadable, ticket('a')]);
    expect([acked, retried.map(({ id }) => id)]).toEqual([['3'], ['0', '1', '2']]);
    expect(await balanceOf('c')).toBe('1');
  });

  it('of an event without a handler is acked, and the event ignored with a summary', async () => {
    await claimEvents({ id: 'a', type: 'constructor' }, { id: 'b', type: 'x', source: 'toString' });
    await consume([ticket('a'), ticket('b', 'toString')]);
    const rows = await query(sql`select status, summary from webhook_events order by event_id`);
    expect(rows).toEqual([
      { status: 'ignored', summary: 'no handler for constructor' },
      { status: 'ignored', summary: 'no handler for x' },
    ]);
  });
});

describe('a failure', () => {
  it('is counted, kept, and retried after a wait with jitter', async () => {
    await claimEvents({ id: 'a', type: 'fails' });
    const { acked, retried } = await consume([ticket('a')]);
    expect(acked).toEqual([]);
    expect(retried[0]?.delaySeconds).toBeGreaterThanOrEqual(1);
    expect(retried[0]?.delaySeconds).toBeLessThanOrEqual(5);
    expect(await events()).toEqual([
      { id: 'a', status: 'pending', attempts: 1, last_error: 'TypeError: canary-9d1e is not a function' },
    ]);
  });

  it('that asks for time gets it', async () => {
    await claimEvents({ id: 'a', type: 'asks for time' });
    expect((await consume([ticket('a')])).retried).toEqual([{ id: '0', delaySeconds: 90 }]);
  });

  it('is not counted again for a second ticket that comes before the wait is over', async () => {
    await claimEvents({ id: 'a', type: 'asks for time' });
    await consume([ticket('a')]);
    for (let second = 0; second < 20; second++) {
      const { acked, retried } = await consume([ticket('a')]);
      expect(acked).toEqual([]);
      expect(retried[0]?.delaySeconds).toBeGreaterThan(80);
    }
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);
  });

  it('of a statement that can’t be built is its own event’s', async () => {
    await claimEvents(increments('a'), { id: 'b', type: 'builds nonsense' });
    const { acked, retried } = await consume([ticket('a'), ticket('b')]);
    expect([acked, retried.length]).toEqual([['0'], 1]);
    expect(await events()).toEqual([
      expect.objectContaining({ id: 'a', status: 'done' }),
      expect.objectContaining({
        id: 'b',
        status: 'pending',
        attempts: 1,
        last_error: 'RangeError: Invalid time value',
      }),
    ]);
  });

  it('of a check that is not ours is a failure, and no duplicate', async () => {
    await claimEvents({ id: 'a', type: 'breaks a check' });
    expect((await consume([ticket('a')])).retried).toHaveLength(1);
    const [row] = await events();
    expect(row).toMatchObject({ status: 'pending', attempts: 1 });
    expect(row?.last_error).toContain('known_effect_status');
  });

  it('to tell two effects apart parks, before one of them is lost', async () => {
    await claimEvents({ id: 'a', type: 'has two effects of one name' });
    await consume([ticket('a')]);
    expect(await events()).toEqual([expect.objectContaining({ status: 'parked' })]);
    expect(await query(sql`select name from webhook_effects`)).toEqual([]);
  });

  it('to find a body parks', async () => {
    await claimEvents(increments('a'));
    await query(sql`delete from webhook_bodies`);
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([
      expect.objectContaining({
        status: 'parked',
        last_error: expect.stringContaining('the body of this event is gone'),
      }),
    ]);
  });

  it('of a handler that never answers is a failure like any other', async () => {
    await claimEvents(increments('a'), { id: 'b', type: 'hangs' });
    const { acked, retried } = await consume([ticket('a'), ticket('b')]);
    expect([acked, retried.length]).toEqual([['0'], 1]);
    expect((await events())[1]?.last_error).toBe('Error: the handler took longer than 0.2 s');
  });

  it('defers its event while the tickets of other events are worked, because its handler may hang again', async () => {
    await claimEvents(increments('a'), { id: 'b', type: 'hangs' });
    await query(sql`update webhook_events set attempts = 1 where event_id = 'b'`);
    const started = Date.now();
    const { acked, retried } = await consume([ticket('a'), ticket('b')]);
    expect([acked, retried]).toEqual([['0'], [{ id: '1', delaySeconds: 1 }]]);
    expect(await events()).toContainEqual(expect.objectContaining({ id: 'b', status: 'pending', attempts: 1 }));
    expect(Date.now() - started).toBeLessThan(200);

    await consume([{ ...ticket('b'), attempts: 2 }]);
    expect(await events()).toContainEqual(expect.objectContaining({ id: 'b', status: 'pending', attempts: 2 }));
  });

  it('for good parks at once', async () => {
    await claimEvents({ id: 'a', type: 'fails for good' });
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([
      { id: 'a', status: 'parked', attempts: 1, last_error: 'PermanentError: no such customer' },
    ]);
  });

  it('of the schema parks at once with the path, and no value', async () => {
    await claimEvents({ id: 'a', type: 'increments', data: { customer: ['canary'] } });
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    const [row] = await events();
    expect(row).toMatchObject({ status: 'parked' });
    expect(row?.last_error).toContain('customer');
    expect(row?.last_error).not.toContain('canary');
  });

  it('parks after the twelfth attempt', async () => {
    await claimEvents({ id: 'a', type: 'fails' });
    for (let attempt = 1; attempt < 12; attempt++) {
      expect((await consume([ticket('a')])).acked).toEqual([]);
      await waitsAreOver();
    }
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toEqual([expect.objectContaining({ status: 'parked', attempts: 12 })]);
  });

  it('parks after as many attempts as its handler says', async () => {
    await claimEvents({ id: 'a', type: 'has two tries' });
    await consume([ticket('a')]);
    await waitsAreOver();
    await consume([ticket('a')]);
    expect(await events()).toEqual([expect.objectContaining({ status: 'parked', attempts: 2 })]);
  });

  it('whose message holds NUL is recorded like any other', async () => {
    await claimEvents({ id: 'a', type: 'throws NUL' });
    expect((await consume([ticket('a')])).retried).toHaveLength(1);
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);
  });

  it('of one event harms no other in its batch', async () => {
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

  it('of Postgres is nobody’s: every ticket waits longer each time, and no attempt is used up', async () => {
    await claimEvents(increments('a'));
    await query(sql`alter table webhook_bodies rename to hidden`);
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
      await query(sql`alter table hidden rename to webhook_bodies`);
    }
    expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);
  });
});

describe('a forwarded delivery', () => {
  const forwarded = async (id: string) => {
    const event = claimable(id, { type: 'increments', body: '{"customer":"c"}', occurredAt: new Date(0) });
    const bytes = await pack({ source: 'test', events: [event], headers: { a: 'b' }, receivedAt: new Date(1000) });
    return { body: bytes?.buffer };
  };

  it('is claimed, and then worked', async () => {
    expect((await consume([await forwarded('a')])).acked).toEqual(['0']);
    expect(await balanceOf('c')).toBe('1');
    const rows = await query(sql`
      select occurred_at, received_at, headers from webhook_events natural join webhook_bodies`);
    expect(rows).toEqual([
      { occurred_at: '1970-01-01 00:00:00+00', received_at: '1970-01-01 00:00:01+00', headers: { a: 'b' } },
    ]);
  });

  it.each(BROKEN_DELIVERIES)(
    'that can not be read or claimed waits, and its neighbours are worked: %s',
    async (...broken) => {
      await claimEvents(increments('n'));
      const [, event, delivery] = broken;
      const { acked, retried } = await consume([await forwardedWith(event, delivery), ticket('n'), ticket('a\0b')]);
      expect([acked, retried.map(({ id }) => id)]).toEqual([['1'], ['0', '2']]);
      expect((await events()).map(({ id, status }) => [id, status])).toEqual([['n', 'done']]);
    },
  );

  it('collapses with the claim that had committed after all, and with its own copies', async () => {
    await claimEvents(increments('a'));
    expect((await consume([await forwarded('a'), ticket('a'), await forwarded('a')])).acked).toEqual(['0', '1', '2']);
    expect(await balanceOf('c')).toBe('1');
  });
});

it('a batch whose bodies don’t fit into memory together is worked in several goes', async () => {
  const data = { customer: 'c', pad: 'x'.repeat(900_000) };
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}`);
  await claimEvents(...ids.map((id) => ({ id, type: 'increments', data })));
  const first = await consume(ids.map((id) => ticket(id)));
  expect(first.retried).not.toEqual([]);
  expect(first.acked.length).toBeGreaterThanOrEqual(18);
  await consume(first.retried.map(({ id }) => ticket(ids[Number(id)] ?? '')));
  expect(await balanceOf('c')).toBe('20');
});
