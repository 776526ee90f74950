// Messages that are more than the ticket of an event, or less: forwarded deliveries, and what somebody else may have sent.
// docs/security.md says in words what a person can do who can write to the queues.
import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_REPLAYS } from '../../src/db/claim.ts';
import { pack } from '../../src/queue/forwarded.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import {
  balanceOf,
  claimEvents,
  consume,
  effectTicket,
  empty,
  events,
  forwardedWith,
  holdBackEffects,
  logged,
  packed,
  QUEUES,
  query,
  ticket,
} from './in-workerd.ts';

beforeEach(empty);

const increments = (id: string, customer = 'c') => ({ id, type: 'increments', data: { customer } });
const states = async () => (await events()).map(({ id, status }) => [id, status]);

/** Delivered again after four hours, so that a later version of the consumer may read it. */
const KEPT = (id: string) => ({ id, delaySeconds: 14_400 });

async function forwarded(...ids: string[]) {
  const made = ids.map((id) => newEvent(id, { type: 'increments', body: '{"customer":"c"}', occurredAt: new Date(0) }));
  const bytes = await pack(claimRequest(made, { headers: { a: 'b' }, receivedAt: new Date(1000) }));
  return { body: bytes?.buffer };
}

describe('a forwarded delivery', () => {
  it('is claimed and all of its events are worked. (Nothing would show that somebody else has sent it)', async () => {
    expect((await consume([await forwarded('a', 'b')])).acked).toEqual(['0']);
    expect(await balanceOf('c')).toBe('2');
    const times = { occurred_at: '1970-01-01 00:00:00+00', received_at: '1970-01-01 00:00:01+00' };
    expect(
      await query(sql`select occurred_at, received_at, headers from webhooks.events natural join webhooks.bodies`),
    ).toEqual([0, 1].map(() => ({ ...times, headers: { a: 'b' } })));
  });

  it('whose event is already claimed is worked once, together with its copies, and changes nothing of the event', async () => {
    await claimEvents(increments('a', 'owner'));
    const copies = [await forwarded('a'), ticket('a'), await forwarded('a')];
    expect((await consume(copies)).acked).toEqual(['0', '1', '2']);
    expect([await balanceOf('owner'), await balanceOf('c')]).toEqual(['1', undefined]);
    expect(await query(sql`select body from webhooks.bodies`)).toEqual([
      { body: expect.stringContaining('"customer":"owner"') },
    ]);
  });

  it('whose event has the id of a suspected replay is worked, also again, and its handler gets the id that was sent', async () => {
    await query(sql`
      insert into webhooks.events (source, event_id, received_at, due_at, status, fingerprint, replay_number)
      values ('test', 'a', now(), now(), 'parked', 'X', 1)`);
    const event = newEvent('a', { type: 'notes its time', fingerprint: 'Y' });
    const bytes = await pack(claimRequest([event], { receivedAt: new Date(1000), unsignedIds: true }));
    for (const outcome of ['done', 'already_finished']) {
      const lines = await logged(() => consume([{ body: bytes?.buffer }]));
      expect(lines).toMatchObject([{ step: 'completion', outcome }]);
    }
    expect(await balanceOf('a')).toBe('1');
    expect(await query(sql`select original_id, status from webhooks.events order by status`)).toEqual([
      { original_id: 'a', status: 'done' },
      { original_id: null, status: 'parked' },
    ]);
  });

  it('that is one of a flood of suspected replays is parked like the others, because it was answered 200', async () => {
    await query(sql`
      insert into webhooks.events (source, event_id, received_at, due_at, status, fingerprint, replay_number)
      select 'test', 'waits ' || n, now(), now(), 'parked', 'same', n from generate_series(0, ${MAX_REPLAYS}::int) n`);
    const bytes = await pack(claimRequest([newEvent('a', { fingerprint: 'same' })], { receivedAt: new Date(1000) }));
    expect((await consume([{ body: bytes?.buffer }])).acked).toEqual(['0']);
    expect(await query(sql`select status, failure from webhooks.events where event_id = 'a'`)).toEqual([
      { status: 'parked', failure: 'replay' },
    ]);
  });

  it('of which one event is broken has the others worked, comes back for the broken one, and is logged with its key', async () => {
    const event = (eventId: unknown) => ({
      ...newEvent('a', { type: 'increments', body: '{"customer":"c"}' }),
      eventId,
    });
    const message = await packed({
      source: 'test',
      headers: {},
      receivedAt: new Date(),
      events: [event('a'), event(null), event('b')],
    });
    const lines = await logged(async () => expect((await consume([message])).retried).toHaveLength(1));
    expect(await balanceOf('c')).toBe('2');
    const reason = 'not a forwarded event as this version knows it';
    expect(lines[0]).toEqual({ step: 'completion', outcome: 'unreadable', source: 'test', event_id: 'null', reason });
    expect((await consume([message], QUEUES.eventsDead)).retried).toEqual([KEPT('0')]);
  });

  it('waits while Postgres is away, however often, and a ticket only for 20 deliveries', async () => {
    await claimEvents(increments('a'));
    await query(sql`alter table webhooks.events rename to hidden`);
    try {
      const tickets = [19, 20].map((attempts) => ({ ...ticket('a'), attempts }));
      const lines = await logged(async () => {
        const { acked, retried } = await consume([...tickets, { ...(await forwarded('b')), attempts: 99 }]);
        expect([acked, retried.map(({ id }) => id).toSorted()]).toEqual([['1'], ['0', '2']]);
      });
      expect(new Set(lines.map(({ outcome }) => outcome))).toEqual(new Set(['database_unavailable']));
      // Also alone: after a ticket in the same batch, the delivery would not even be tried.
      for (const messages of [[ticket('a'), await forwarded('b')], [await forwarded('b')]]) {
        const lines = await logged(async () => {
          const { retried } = await consume(messages, QUEUES.eventsDead);
          expect(retried).toEqual(messages.map((_, n) => KEPT(String(n))));
        });
        expect(new Set(lines.map(({ step }) => step))).toEqual(new Set(['dead_letter']));
      }
    } finally {
      await query(sql`alter table webhooks.hidden rename to events`);
    }
  });
});

/** What is wrong, and the values of the event and of the delivery. All of what can't be read: engine/test/pure/queue.test.ts. */
const BROKEN: [string, object, object?][] = [
  ['a null id', { eventId: null }],
  ['an id that is too long for an index', { eventId: Array.from({ length: 4000 }, () => Math.random()).join() }],
  ['headers that are not text', {}, { headers: { a: 1 } }],
  ['a newer version', {}, { version: 3 }],
];

describe('what cannot be read', () => {
  it.each(BROKEN)(
    'a forwarded delivery with %s comes back, as a dead letter after four hours, with a line each time, and its neighbours are settled',
    async (_what, event, delivery) => {
      await claimEvents(increments('n'));
      const bad = await forwardedWith(event, delivery);
      const lines = await logged(async () => {
        const { acked, retried } = await consume([bad, ticket('n'), ticket('a\0b')]);
        expect([acked, retried.map(({ id }) => id)]).toEqual([['1'], ['0', '2']]);
      });
      expect(lines).toContainEqual(expect.objectContaining({ step: 'completion', outcome: 'unreadable' }));
      expect(await states()).toEqual([['n', 'done']]);

      await claimEvents(increments('o'));
      const good = await forwardedWith({ eventId: 'z' });
      const dead = await logged(async () => {
        const { acked, retried } = await consume([ticket('o'), bad, good], QUEUES.eventsDead);
        expect([acked, retried]).toEqual([['0', '2'], [KEPT('1')]]);
      });
      expect(dead).toContainEqual(expect.objectContaining({ step: 'dead_letter', outcome: 'unreadable' }));
      expect(await states()).toEqual([
        ['n', 'done'],
        ['o', 'parked'],
        ['z', 'pending'],
      ]);
    },
  );

  it('any other message comes back, the longer the more often it was delivered, and its neighbours are worked', async () => {
    await claimEvents(increments('a'));
    const { version: _, ...withoutVersion } = ticket('a').body;
    const others = ['text', null, new Uint8Array([1, 2, 3]).buffer, withoutVersion];
    const { acked, retried } = await consume([...others.map((body) => ({ body })), ticket('a')]);
    expect([acked, retried.map(({ id }) => id)]).toEqual([['4'], ['0', '1', '2', '3']]);
    expect(await balanceOf('c')).toBe('1');
    const often = await consume(Array.from({ length: 20 }, () => ({ body: 'text', attempts: 12 })));
    expect(Math.max(...often.retried.map(({ delaySeconds = 0 }) => delaySeconds))).toBeGreaterThan(60);
  });

  it.each([
    ['events', QUEUES.events, 'completion'],
    ['effects', QUEUES.effects, 'effect'],
    ['dead tickets of events', QUEUES.eventsDead, 'dead_letter'],
    ['dead tickets of effects', QUEUES.effectsDead, 'dead_letter'],
  ])(
    'a ticket in a newer version among %s comes back and changes nothing, and the log says so',
    async (_what, queue, step) => {
      await holdBackEffects('has effects');
      const before = await events();
      const body = { version: 2, source: 'test', eventId: 'a', name: 'held first' };
      const lines = await logged(async () => {
        const { acked, retried } = await consume([{ body }], queue);
        expect([acked, retried.map(({ id }) => id)]).toEqual([[], ['0']]);
      });
      const reason = 'the message has version 2, but this Worker reads version 1';
      expect(lines).toMatchObject([{ step, outcome: 'unreadable', reason }]);
      expect(await events()).toEqual(before);
    },
  );

  it('an unreadable dead letter among those of effects is kept for four hours, and its neighbours are parked', async () => {
    await holdBackEffects('has effects');
    const messages = [ticket('a'), { body: null }, effectTicket('held first')];
    const { acked, retried } = await consume(messages, QUEUES.effectsDead);
    expect([acked, retried]).toEqual([['2'], [KEPT('0'), KEPT('1')]]);
    expect(await query(sql`select status from webhooks.effects where name = 'held first'`)).toEqual([
      { status: 'parked' },
    ]);
  });
});

it('a forged ticket names an event and brings nothing along that could change it', async () => {
  await claimEvents(increments('real', 'owner'));
  const more = { type: 'other', body: '{"customer":"attacker"}', status: 'parked' };
  await consume([{ body: { ...ticket('real').body, ...more } }, ticket('unknown')]);
  expect(await states()).toEqual([['real', 'done']]);
  expect([await balanceOf('owner'), await balanceOf('attacker')]).toEqual(['1', undefined]);
});

describe('dead tickets', () => {
  it('park the events that wait, each with the reason and a line, and leave what is done', async () => {
    await claimEvents(increments('done'));
    await consume([ticket('done')]);
    await claimEvents(increments('a'), increments('b'));
    const tickets = ['done', 'a', 'b', 'unknown'].map((id) => ticket(id));
    const lines = await logged(async () => {
      expect((await consume(tickets, QUEUES.eventsDead)).acked).toEqual(['0', '1', '2', '3']);
    });
    const parked = { outcome: 'parked', failure: 'poison', source: 'test', ms: expect.any(Number) };
    expect(lines).toHaveLength(2);
    expect(lines).toEqual(
      expect.arrayContaining(['a', 'b'].map((id) => ({ step: 'dead_letter', event_id: id, ...parked }))),
    );
    const last_error = expect.stringContaining('the queue gave up');
    expect(await events()).toEqual([
      { id: 'a', status: 'parked', attempts: 0, failure: 'poison', last_error },
      { id: 'b', status: 'parked', attempts: 0, failure: 'poison', last_error },
      { id: 'done', status: 'done', attempts: 1, failure: null, last_error: null },
    ]);
    expect(await query(sql`select event_id from webhooks.events where finished_at is null`)).toEqual([]);
  });

  it('of effects park what is not sent, name it in the log, and leave its event and the other effects', async () => {
    await holdBackEffects('has effects');
    await consume([effectTicket('held second')], QUEUES.effects);
    const tickets = ['held first', 'held second'].map(effectTicket);
    const lines = await logged(() => consume(tickets, QUEUES.effectsDead));
    const parked = { step: 'dead_letter', outcome: 'parked', failure: 'poison', source: 'test', event_id: 'a' };
    expect(lines).toMatchObject([{ ...parked, name: 'held first' }]);
    expect(await query(sql`select name, status, failure from webhooks.effects order by 1`)).toEqual([
      { name: 'held first', status: 'parked', failure: 'poison' },
      { name: 'held gone', status: 'pending', failure: null },
      { name: 'held second', status: 'sent', failure: null },
    ]);
    expect(await states()).toEqual([['a', 'done']]);
  });
});
