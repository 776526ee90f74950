import { expect, it } from 'vitest';
import { inLockOrder } from '../../../src/consumer/commit.ts';
import type { Completion } from '../../../src/db/events.ts';

const completion = (eventId: string, ...params: unknown[][]): Completion => ({
  source: 'test',
  eventId,
  status: 'done',
  summary: '',
  statements: params.map((ofStatement) => ({ sql: 'select', params: ofStatement })),
  effects: [],
});
const idsOf = (events: readonly Completion[]) => events.map(({ eventId }) => eventId);

it('events are sorted by the parameter that they share, and not by those of their own', () => {
  const group = [
    completion('a', ['in_1', 'cus_7'], ['cus_7', 5]),
    completion('b', ['in_2', 'cus_3'], ['cus_3', 6]),
    completion('c', ['in_3', 'cus_7'], ['cus_7', 7]),
    completion('d', ['in_4', 'cus_3'], ['cus_3', 8]),
  ];
  expect(idsOf(inLockOrder(group))).toEqual(['b', 'd', 'a', 'c']);
  expect(idsOf(inLockOrder(group.toReversed()))).toEqual(['d', 'b', 'c', 'a']);
});

it('events keep their order if they share nothing', () => {
  const group = [completion('b', ['z']), completion('a', ['y']), completion('c')];
  expect(idsOf(inLockOrder(group))).toEqual(['b', 'a', 'c']);
});

it('parameters that name no row, such as objects, are not compared', () => {
  const nothing = Object.create(null);
  const group = [completion('b', [nothing, null, ['x']]), completion('a', [nothing, null, ['x']])];
  expect(idsOf(inLockOrder(group))).toEqual(['b', 'a']);
});
