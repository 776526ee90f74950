// In which portions a batch is worked, what becomes of its messages, and in which order the events of a group are committed.
import { describe, expect, it } from 'vitest';
import { inLockOrder } from '../../src/consumer/commit.ts';
import { acknowledge, type Outcome, outcomeFields, secondsUntilDue } from '../../src/consumer/outcomes.ts';
import { type ConsumerDependencies, workInPortions } from '../../src/consumer/portions.ts';
import { DatabaseError } from '../../src/db/errors.ts';
import type { Completion } from '../../src/db/events.ts';

const MINUTE_MS = 60_000;
const NOW = new Date('2026-03-01T12:00:00Z');

interface Options {
  /** How long each portion takes. */
  readonly minutes?: number;
  /** Numbers of deliveries of the messages that Postgres knows to be bad. */
  readonly suspects?: readonly number[];
  readonly refuses?: (portion: readonly number[]) => Error | undefined;
  readonly random?: () => number;
}

/** Works messages with these numbers of deliveries. A fraction only tells two messages apart. */
async function work(deliveries: readonly number[], { minutes = 0, suspects = [], refuses, random }: Options = {}) {
  let time = 0;
  const worked: number[][] = [];
  const begun: boolean[] = [];
  const waits = new Map<number, number>();
  const lines: object[] = [];
  const messages = deliveries.map((attempts) => ({
    attempts,
    ack() {},
    retry: ({ delaySeconds = 0 }) => waits.set(attempts, delaySeconds),
  }));
  const log = (line: object) => lines.push(line);
  await workInPortions(
    { messages } as unknown as MessageBatch<unknown>,
    { now: () => new Date(time), random: random ?? (() => 0.5), log } as unknown as ConsumerDependencies,
    async (portion) => {
      const numbers = portion.messages.map(({ attempts }) => attempts);
      worked.push(numbers);
      begun.push(portion.begun !== undefined);
      time += minutes * MINUTE_MS;
      const error = refuses?.(numbers);
      if (error) throw error;
      const isAlone = (attempts: number) => portion.messages.length > 1 && suspects.includes(attempts);
      return new Map(portion.messages.map((message) => [message, isAlone(message.attempts) ? 'alone' : []]));
    },
  );
  return { worked, begun, waits: Object.fromEntries(waits), lines };
}

describe('the messages of a batch', () => {
  it('are worked together, first deliveries before redeliveries', async () => {
    expect(await work([3, 1, 7, 1, 2])).toMatchObject({
      worked: [
        [1, 1],
        [3, 7, 2],
      ],
      waits: {},
      lines: [],
    });
  });

  it('that may harm others are worked alone afterwards, the most redelivered last', async () => {
    const { worked } = await work([3, 1, 7, 1, 2, 9], { suspects: [9, 3, 7] });
    expect(worked).toEqual([[1, 1], [3, 7, 2, 9], [3], [7], [9]]);
  });

  it('that were redelivered equally often are worked in random order, so that a bad one is not always first', async () => {
    const random = [0.9, 0.1, 0.5];
    const all = [2.01, 2.02, 2.03];
    const { worked } = await work(all, { suspects: all, random: () => random.shift() ?? 0 });
    expect(worked.slice(1)).toEqual([[2.02], [2.03], [2.01]]);
  });

  it('wait for a later batch if this one has run for more than ten minutes', async () => {
    const { worked, waits } = await work([2, 3, 4, 5], { minutes: 6, suspects: [3, 4, 5] });
    expect({ worked, waits }).toEqual({ worked: [[2, 3, 4, 5], [3]], waits: { 4: 1, 5: 1 } });
  });

  it('are all retried if Postgres is down, with one log line for each query', async () => {
    const refuses = () => new DatabaseError('away', { retryable: true });
    const away = { step: 'batch', outcome: 'database_unavailable', reason: 'away' };
    const first = await work([1, 2, 3], { refuses });
    expect(first).toMatchObject({ worked: [[1]], waits: { 1: 3, 2: 5, 3: 10 }, lines: [away] });
    const again = await work([2, 3, 4], { refuses });
    expect(again).toMatchObject({ worked: [[2, 3, 4], [2]], waits: { 2: 5, 3: 10, 4: 20 }, lines: [away] });
  });

  it('are worked even if Postgres never answers one of them, once that one is the most redelivered', async () => {
    const refuses = (portion: readonly number[]) =>
      portion.includes(9) ? new DatabaseError('too late', { retryable: true }) : undefined;
    expect((await work([9, 2, 3], { refuses })).worked).toEqual([[9, 2, 3], [2], [3], [9]]);
  });

  it.each([
    ['that come for the first time', [1.1, 1.2, 1.3]],
    ['that were redelivered', [2, 3, 4]],
  ])(
    '%s are worked alone if Neon refuses the size of all, and only the one that is too large waits',
    async (_which, all) => {
      const tooLarge = new DatabaseError('too large', { retryable: false, isAboutData: true });
      // A fraction counts as a redelivery.
      const given = all.map((attempts) => (attempts < 2 ? Math.floor(attempts) : attempts));
      const refuses = (portion: readonly number[]) =>
        portion.length > 1 || portion.includes(3) ? tooLarge : undefined;
      const { worked, waits } = await work(given, { refuses });
      expect(worked).toEqual([given, ...given.map((one) => [one])]);
      expect(Object.keys(waits)).toEqual(given.filter((one) => one === 3).map(String));
    },
  );

  it('are worked alone after an unexpected error, and only the message that causes it waits', async () => {
    const refuses = (portion: readonly number[]) => (portion.includes(3) ? new TypeError('ours') : undefined);
    const { worked, waits, lines } = await work([2, 3, 4], { refuses });
    expect([worked, waits]).toEqual([[[2, 3, 4], [2], [3], [4]], { 3: 10 }]);
    const line = { step: 'batch', outcome: 'error', error: 'TypeError', position: expect.any(String) };
    expect(lines).toEqual([line, line]);
  });
});

it('only a group of redelivered messages is recorded as begun', async () => {
  const noted = async (...deliveries: number[]) => (await work(deliveries)).begun;
  expect([await noted(2, 3), await noted(2), await noted(1, 1), await noted(1, 2, 3)]).toEqual([
    [true],
    [false],
    [false],
    [false, true],
  ]);
});

it('an event or an effect is due up to a second before its time, because clocks differ', () => {
  const seconds = (ms: number) => secondsUntilDue({ notBefore: new Date(NOW.getTime() + ms) }, NOW);
  expect([-5000, 0, 1000, 1001, 2000, 2001, 90_500].map(seconds)).toEqual([0, 0, 0, 2, 2, 3, 91]);
  expect(secondsUntilDue({ notBefore: null }, NOW)).toBe(0);
});

describe('a message', () => {
  /** With `random` 0.5: half of the longest wait. `acked`, or the seconds after which it comes back. */
  function settled(
    outcomes: readonly object[],
    attempts = 3,
    body: unknown = { version: 1, source: 'a', eventId: 'b' },
  ) {
    let result: unknown;
    const message = {
      body,
      attempts,
      ack: () => (result = 'acked'),
      retry: ({ delaySeconds }: QueueRetryOptions) => (result = delaySeconds),
    };
    acknowledge(message as unknown as Message, outcomes as Outcome[], 0.5);
    return result;
  }
  const away = { outcome: 'database_unavailable', reason: '' };

  it.each<[string, readonly object[], unknown]>([
    ...['done', 'ignored', 'sent', 'parked', 'already_finished', 'not_found'].map(
      (outcome): [string, readonly object[], unknown] => [outcome, [{ outcome }], 'acked'],
    ),
    ['that waits for a later batch', [{ outcome: 'deferred' }], 1],
    ['that is not due', [{ outcome: 'not_due', seconds: 7 }], 7],
    ['that has failed', [{ outcome: 'retry', seconds: 90 }], 90],
    ['that cannot be read', [{ outcome: 'unreadable' }], 10],
    ['that meets a mistake of ours', [{ outcome: 'error' }], 10],
    ['that meets an outage', [away], 10],
    [
      'with several events',
      [{ outcome: 'retry', seconds: 5 }, { outcome: 'done' }, { outcome: 'not_due', seconds: 60 }],
      60,
    ],
    ['whose events are all settled', [{ outcome: 'done' }, { outcome: 'parked' }], 'acked'],
    ['without events', [], 'acked'],
  ])('%s', (_which, outcomes, expected) => {
    expect(settled(outcomes)).toBe(expected);
  });

  it('is dropped after 20 deliveries during an outage if it is a ticket, because the sweep sends another', () => {
    expect([settled([away], 19), settled([away], 20), settled([away], 20, new Uint8Array())]).toEqual([
      1800,
      'acked',
      1800,
    ]);
    expect(settled([{ outcome: 'unreadable' }], 20)).toBe(1800);
  });
});

it('a log line has the failure, its reason and its position, and nothing that must not be logged', () => {
  const failed = { failure: 'handler', reason: 'TypeError', position: 'a.js:1:2' };
  const secret = { seconds: 5, error: 'a secret', failedPaths: ['a secret'] };
  for (const outcome of ['retry', 'parked']) {
    expect(outcomeFields({ outcome, ...failed, ...secret } as Outcome)).toEqual({ outcome, ...failed });
  }
  for (const outcome of ['ignored', 'database_unavailable']) {
    expect(outcomeFields({ outcome, reason: 'why', ...secret } as Outcome)).toEqual({ outcome, reason: 'why' });
  }
  for (const outcome of [
    'done',
    'sent',
    'already_finished',
    'not_found',
    'unreadable',
    'error',
    'deferred',
    'not_due',
  ]) {
    expect(outcomeFields({ outcome, ...secret } as Outcome)).toEqual({ outcome });
  }
});

describe('a group of events', () => {
  const completion = (eventId: string, ...params: unknown[][]): Completion => ({
    source: 'test',
    eventId,
    status: 'done',
    summary: '',
    statements: params.map((ofStatement, n) => ({ sql: `select ${n}`, params: ofStatement })),
    effects: [],
  });
  const idsOf = (events: readonly Completion[]) => events.map(({ eventId }) => eventId);

  it.each([
    ['texts', 'cus_7', 'cus_3'],
    ['numbers', 7, 3],
    ['bigints', 7n, 3n],
  ])('is sorted by the %s that its events share, instead of their own values', (_what, seven, three) => {
    const group = [
      completion('a', ['in_1', seven], [seven, 5.5]),
      completion('b', ['in_2', three], [three, 6.5]),
      completion('c', ['in_3', seven], [seven, 7.5]),
      completion('d', ['in_4', three], [three, 8.5]),
    ];
    expect(idsOf(inLockOrder(group.map((one) => [one])))).toEqual(['b', 'd', 'a', 'c']);
    expect(idsOf(inLockOrder(group.toReversed().map((one) => [one])))).toEqual(['d', 'b', 'c', 'a']);
  });

  it('is sorted by each event’s key, even if only events of another group have it', () => {
    const keys = ['cus_7', 'cus_9', 'cus_1', 'cus_7', 'cus_3'];
    const group = keys.map((key, n) => completion(key, [`in_${n}`, key]));
    expect(idsOf(inLockOrder(group.map((one) => [one])))).toEqual(keys.toSorted());
  });

  it('keeps its order if its events share nothing, or only values that can’t be keys, such as objects', () => {
    const group = [completion('b', ['z']), completion('a', ['y']), completion('c')];
    expect(idsOf(inLockOrder(group.map((one) => [one])))).toEqual(['b', 'a', 'c']);
    const nothing = Object.create(null);
    const others = [completion('b', [nothing, null, ['x']]), completion('a', [nothing, null, ['x']])];
    expect(idsOf(inLockOrder(others.map((one) => [one])))).toEqual(['b', 'a']);
  });
});
