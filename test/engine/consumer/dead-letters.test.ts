import { sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { pack } from '../../../src/queue/forwarded.ts';
import { claimable } from '../claimable.ts';
import { claimEvents, consume, empty, events, holdBackEffects, QUEUES, query, ticket } from './in-workerd.ts';

beforeEach(empty);

it('a ticket that the queue gave up becomes a parked event, with the reason', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  expect((await consume([ticket('a')], QUEUES.eventsDead)).outcome).toBe('ok');
  const [row] = await events();
  expect(row).toMatchObject({ status: 'parked', attempts: 0 });
  expect(row?.last_error).toContain('the queue gave up');
});

it('an event that was done meanwhile stays done', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  await consume([ticket('a')]);
  await consume([ticket('a')], QUEUES.eventsDead);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done', last_error: null })]);
});

it('a forwarded delivery that the queue gave up is claimed even now, and left to the sweep', async () => {
  const event = claimable('a', { type: 'increments' });
  const bytes = await pack({ source: 'test', events: [event], headers: {}, receivedAt: new Date() });
  await consume([{ body: bytes?.buffer }], QUEUES.eventsDead);
  expect(await events()).toEqual([expect.objectContaining({ id: 'a', status: 'pending' })]);
});

it('an effect that the queue gave up is parked on its own, and its event stays done', async () => {
  await holdBackEffects('has effects');
  const body = { source: 'test', eventId: 'a', name: 'held first' };
  await consume([{ body }], QUEUES.effectsDead);
  const effects = await query(sql`select name, status from webhook_effects where name <> 'held gone' order by 1`);
  expect(effects).toEqual([
    { name: 'held first', status: 'parked' },
    { name: 'held second', status: 'pending' },
  ]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done' })]);
});

it('what no version can read is dropped, and its neighbours are parked', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  expect((await consume([{ body: 'text' }, ticket('a')], QUEUES.eventsDead)).outcome).toBe('ok');
  expect(await events()).toEqual([expect.objectContaining({ status: 'parked' })]);
});

it('while Postgres is away, dead letters wait', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  await query(sql`alter table webhook_events rename to hidden`);
  try {
    expect((await consume([ticket('a')], QUEUES.eventsDead)).retried).toHaveLength(1);
  } finally {
    await query(sql`alter table hidden rename to webhook_events`);
  }
});
