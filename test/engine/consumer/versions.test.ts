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

it('a ticket without a version is delivered again: no Worker of ours has sent it', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  const { version: _, ...body } = ticket('a').body;
  const { acked, retried } = await consume([{ body }]);
  expect([acked, retried.map(({ id }) => id), await balanceOf('c')]).toEqual([[], ['0'], undefined]);
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
  ['forwarded delivery in a newer version', QUEUES.events, 2],
  ['forwarded delivery without a version', QUEUES.events, undefined],
  ['dead forwarded delivery in a newer version', QUEUES.eventsDead, 2],
])('a %s is delivered again and not claimed, and the log names its event', async (_what, queue, version) => {
  const message = await forwardedWith({}, { version });
  const lines = await logged(async () => {
    const { acked, retried } = await consume([message], queue);
    expect([acked, retried.map(({ id }) => id)]).toEqual([[], ['0']]);
  });
  expect(lines[0]).toMatchObject({ outcome: 'unreadable', event_id: 'a' });
  expect(await events()).toEqual([]);
});
