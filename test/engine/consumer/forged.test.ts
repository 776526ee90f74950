// What somebody can do who can write to the queues. docs/security.md says the same in words.
import { sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import {
  balanceOf,
  claimEvents,
  consume,
  effectTicket,
  empty,
  events,
  forwardedWith,
  holdBackEffects,
  QUEUES,
  query,
  ticket,
} from './in-workerd.ts';

beforeEach(empty);

const body = (customer: string) => ({ body: JSON.stringify({ customer }) });

it('a forged forwarded delivery is claimed and worked: nothing shows that the receiver did not send it', async () => {
  await consume([await forwardedWith({ eventId: 'forged', ...body('attacker') })]);
  expect(await balanceOf('attacker')).toBe('1');
});

it('a forged forwarded delivery changes no event that is claimed already', async () => {
  await claimEvents({ id: 'real', type: 'increments', data: { customer: 'owner' } });
  await consume([await forwardedWith({ eventId: 'real', ...body('attacker') })]);
  expect([await balanceOf('owner'), await balanceOf('attacker')]).toEqual(['1', undefined]);
  expect(await query(sql`select body from webhooks.bodies`)).toEqual([
    { body: expect.stringContaining('"customer":"owner"') },
  ]);
});

it('a forged ticket names an event and brings nothing along that could change it', async () => {
  await claimEvents({ id: 'real', type: 'increments', data: { customer: 'owner' } });
  const forged = { ...ticket('real').body, type: 'other', ...body('attacker'), status: 'parked' };
  await consume([{ body: forged }, ticket('unknown')]);
  expect((await events()).map(({ id, status }) => [id, status])).toEqual([['real', 'done']]);
  expect([await balanceOf('owner'), await balanceOf('attacker')]).toEqual(['1', undefined]);
});

it('a forged ticket on the dead letter queue parks an event that waits, and changes none that is done', async () => {
  await claimEvents({ id: 'done', type: 'increments', data: { customer: 'owner' } });
  await consume([ticket('done')]);
  await claimEvents({ id: 'waiting', type: 'increments', data: { customer: 'owner' } });
  await consume([ticket('done'), ticket('waiting')], QUEUES.eventsDead);
  expect((await events()).map(({ id, status }) => [id, status])).toEqual([
    ['done', 'done'],
    ['waiting', 'parked'],
  ]);
});

it('a forged ticket of an effect can not choose what is sent, and neither shortens the wait of one that fails nor uses up its attempts', async () => {
  await holdBackEffects('has an effect answered', { status: 503, headers: { 'retry-after': '120' } });
  const forged = { ...effectTicket('held answers').body, kind: 'other', payload: '{}' };
  for (let n = 0; n < 12; n++) await consume([{ body: forged }], QUEUES.effects);
  expect(await query(sql`select kind, status, attempts from webhooks.effects`)).toEqual([
    { kind: 'answers', status: 'pending', attempts: 1 },
  ]);
});
