import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { pack } from '../../../src/queue/forwarded.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import {
  BROKEN_DELIVERIES,
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

/** Delivered again after four hours, so that a later version of the consumer may read it. */
const HELD = (id: string) => ({ id, delaySeconds: 14_400 });

it('the event of a dead ticket is parked with the reason', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  expect((await consume([ticket('a')], QUEUES.eventsDead)).outcome).toBe('ok');
  const [row] = await events();
  expect(row).toMatchObject({ status: 'parked', attempts: 0, failure: 'poison' });
  expect(row?.last_error).toContain('the queue gave up');
});

it('an event that is done stays done when a dead ticket of it arrives', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  await consume([ticket('a')]);
  await consume([ticket('a')], QUEUES.eventsDead);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done', last_error: null })]);
});

it('a dead forwarded delivery is claimed, and its event stays pending for the sweep', async () => {
  const bytes = await pack(claimRequest([newEvent('a', { type: 'increments' })], { receivedAt: new Date() }));
  await consume([{ body: bytes?.buffer }], QUEUES.eventsDead);
  expect(await events()).toEqual([expect.objectContaining({ id: 'a', status: 'pending' })]);
});

it('the effect of a dead ticket is parked and named in the log, without the other effects, and its event stays done', async () => {
  await holdBackEffects('has effects');
  const [line] = await logged(() => consume([effectTicket('held first')], QUEUES.effectsDead));
  expect(line).toMatchObject({
    step: 'dead_letter',
    outcome: 'parked',
    failure: 'poison',
    source: 'test',
    event_id: 'a',
    name: 'held first',
  });
  const effects = await query(
    sql`select name, status, failure from webhooks.effects where name <> 'held gone' order by 1`,
  );
  expect(effects).toEqual([
    { name: 'held first', status: 'parked', failure: 'poison' },
    { name: 'held second', status: 'pending', failure: null },
  ]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done' })]);
});

describe('a dead letter that can not be read or claimed', () => {
  it.each(BROKEN_DELIVERIES)(
    'a dead forwarded delivery with %s is kept for four hours, and its neighbours are parked or claimed',
    async (_what, event, delivery) => {
      await claimEvents({ id: 'n', type: 'increments' });
      const bad = await forwardedWith(event, delivery);
      const good = await forwardedWith({ eventId: 'z' });
      const lines = await logged(async () => {
        const { acked, retried } = await consume([ticket('n'), bad, good], QUEUES.eventsDead);
        expect([acked, retried]).toEqual([['0', '2'], [HELD('1')]]);
      });
      expect((await events()).map(({ id, status }) => [id, status])).toEqual([
        ['n', 'parked'],
        ['z', 'pending'],
      ]);
      expect(lines).toContainEqual(expect.objectContaining({ step: 'dead_letter', outcome: 'unreadable' }));
    },
  );

  it('a dead forwarded delivery that can not be claimed is logged with its key', async () => {
    const bad = await forwardedWith({ eventId: 'bad', occurredAt: 'yesterday' });
    const lines = await logged(() => consume([bad], QUEUES.eventsDead));
    expect(lines).toEqual([
      {
        step: 'dead_letter',
        outcome: 'unreadable',
        source: 'test',
        event_id: 'bad',
        reason: 'not a forwarded event as this version knows it',
      },
    ]);
  });

  it('a dead ticket whose id holds NUL is kept for four hours, and its neighbours are parked', async () => {
    await claimEvents({ id: 'n', type: 'increments' });
    const { acked, retried } = await consume([ticket('a\0b'), ticket('n')], QUEUES.eventsDead);
    expect([acked, retried]).toEqual([['1'], [HELD('0')]]);
    expect(await events()).toEqual([expect.objectContaining({ id: 'n', status: 'parked' })]);
  });

  it('an unreadable dead letter among those of effects is kept for four hours, and its neighbours are parked', async () => {
    await holdBackEffects('has effects');
    const messages = [ticket('a'), { body: null }, effectTicket('held first')];
    const { acked, retried } = await consume(messages, QUEUES.effectsDead);
    expect([acked, retried]).toEqual([['2'], [HELD('0'), HELD('1')]]);
    expect(await query(sql`select status from webhooks.effects where name = 'held first'`)).toEqual([
      { status: 'parked' },
    ]);
  });
});

it('the correct events of a dead forwarded delivery are claimed, although one of its events is broken', async () => {
  const event = (eventId: unknown) => ({ ...newEvent('a'), eventId });
  const delivery = { source: 'test', headers: {}, receivedAt: new Date() };
  const message = await packed({ ...delivery, events: [event('a'), event(null), event('b')] });
  expect((await consume([message], QUEUES.eventsDead)).retried).toEqual([HELD('0')]);
  expect((await events()).map(({ id }) => id)).toEqual(['a', 'b']);
});

it('while Postgres is away, dead tickets and dead forwarded deliveries are retried after four hours', async () => {
  await query(sql`alter table webhooks.events rename to hidden`);
  try {
    // Also alone: after a ticket in the same batch, the delivery would not even be tried.
    for (const messages of [[ticket('a'), await forwardedWith({})], [await forwardedWith({})]]) {
      const { retried } = await consume(messages, QUEUES.eventsDead);
      expect(retried.map(({ delaySeconds }) => delaySeconds)).toEqual(messages.map(() => 14_400));
    }
  } finally {
    await query(sql`alter table webhooks.hidden rename to events`);
  }
});

it('a dead letter that is neither a ticket nor a forwarded delivery is kept for four hours, and its neighbours are parked', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  const { acked, retried } = await consume([{ body: 'text' }, ticket('a')], QUEUES.eventsDead);
  expect([acked, retried]).toEqual([['1'], [HELD('0')]]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'parked' })]);
});
