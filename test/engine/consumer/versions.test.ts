import { beforeEach, expect, it } from 'vitest';
import {
  balanceOf,
  claimEvents,
  consume,
  empty,
  events,
  forwardedWith,
  holdBackEffects,
  logged,
  QUEUES,
  ticket,
} from './in-workerd.ts';

beforeEach(empty);

const NEWER = 'a message of version 2, and this Worker knows version 1';
const newer = (body: object) => ({ body: { version: 2, ...body } });

it('a ticket without a version, as earlier Workers sent them, and one of this version are both worked', async () => {
  for (const id of ['a', 'b']) await claimEvents({ id, type: 'increments', data: { customer: 'c' } });
  const { acked } = await consume([ticket('a'), { body: { version: 1, ...ticket('b').body } }]);
  expect([acked, await balanceOf('c')]).toEqual([['0', '1'], '2']);
});

it('a forwarded delivery without a version, as earlier Workers sent them, is claimed and worked', async () => {
  expect((await consume([await forwardedWith({})])).acked).toEqual(['0']);
  expect(await balanceOf('c')).toBe('1');
});

it.each([
  ['ticket of an event', QUEUES.events, 'completion'],
  ['ticket of an effect', QUEUES.effects, 'effect'],
  ['dead ticket of an event', QUEUES.eventsDead, 'dead_letter'],
  ['dead ticket of an effect', QUEUES.effectsDead, 'dead_letter'],
])(
  'a %s in a newer version is delivered again and changes nothing, and the log says so',
  async (_what, queue, step) => {
    await holdBackEffects('has effects');
    const before = await events();
    const lines = await logged(async () => {
      const { acked, retried } = await consume([newer({ source: 'test', eventId: 'a', name: 'held first' })], queue);
      expect([acked, retried.map(({ id }) => id)]).toEqual([[], ['0']]);
    });
    expect(lines).toEqual([expect.objectContaining({ step, outcome: 'unreadable', reason: NEWER })]);
    expect(await events()).toEqual(before);
  },
);

it.each([
  ['forwarded delivery', QUEUES.events],
  ['dead forwarded delivery', QUEUES.eventsDead],
])('a %s in a newer version is delivered again and not claimed, and the log names its event', async (_what, queue) => {
  const message = await forwardedWith({}, { version: 2 });
  const lines = await logged(async () => {
    const { acked, retried } = await consume([message], queue);
    expect([acked, retried.map(({ id }) => id)]).toEqual([[], ['0']]);
  });
  expect(lines[0]).toMatchObject({ outcome: 'unreadable', event_id: 'a' });
  expect(await events()).toEqual([]);
});
