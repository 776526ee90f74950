import { expect, it } from 'vitest';
import { type ConsumerDependencies, workInPortions } from '../../../src/consumer/batch.ts';
import { DatabaseError } from '../../../src/db/errors.ts';

const MINUTE_MS = 60_000;

interface Options {
  /** How long each portion takes. */
  readonly minutes?: number;
  /** Numbers of deliveries of the messages that Postgres knows to be bad. */
  readonly suspects?: readonly number[];
  readonly refuses?: (portion: readonly number[]) => Error | undefined;
}

/** Works messages with these numbers of deliveries. */
async function work(deliveries: readonly number[], { minutes = 0, suspects = [], refuses }: Options = {}) {
  let time = 0;
  const worked: number[][] = [];
  const waits = new Map<number, number>();
  const lines: object[] = [];
  const messages = deliveries.map((attempts) => ({
    attempts,
    retry: ({ delaySeconds = 0 }) => waits.set(attempts, delaySeconds),
  }));
  const dependencies = { now: () => new Date(time), random: () => 0.5, log: (line: object) => lines.push(line) };
  await workInPortions(
    { messages } as unknown as MessageBatch<unknown>,
    dependencies as unknown as ConsumerDependencies,
    async (portion) => {
      const numbers = portion.map(({ attempts }) => attempts);
      worked.push(numbers);
      time += minutes * MINUTE_MS;
      const error = refuses?.(numbers);
      if (error) throw error;
      return portion.length > 1 ? portion.filter(({ attempts }) => suspects.includes(attempts)) : [];
    },
  );
  return { worked, waits: Object.fromEntries(waits), lines };
}

it('messages are worked together, those that come for the first time before the others', async () => {
  expect(await work([3, 1, 7, 1, 2])).toMatchObject({
    worked: [
      [1, 1],
      [3, 7, 2],
    ],
    waits: {},
  });
});

it('messages that may harm the others are worked alone afterwards, the most redelivered last', async () => {
  const { worked } = await work([3, 1, 7, 1, 2, 9], { suspects: [9, 3, 7] });
  expect(worked).toEqual([[1, 1], [3, 7, 2, 9], [3], [7], [9]]);
});

it('a batch that has run for more than ten minutes leaves the rest of its messages to a later one', async () => {
  const { worked, waits } = await work([2, 3, 4, 5], { minutes: 6, suspects: [3, 4, 5] });
  expect({ worked, waits }).toEqual({ worked: [[2, 3, 4, 5], [3]], waits: { 4: 1, 5: 1 } });
});

it('if Postgres is away, it is not asked again for the rest of the batch', async () => {
  const refuses = () => new DatabaseError('away', { retryable: true });
  const { worked, waits } = await work([1, 2, 3], { refuses });
  expect(worked).toEqual([[1]]);
  expect(Object.keys(waits)).toEqual(['1', '2', '3']);
  expect((await work([2, 3, 4], { refuses })).worked).toEqual([[2, 3, 4], [2]]);
});

it('a message that Postgres never answers keeps no other from being worked once it is the most redelivered', async () => {
  const refuses = (portion: readonly number[]) =>
    portion.includes(9) ? new DatabaseError('too late', { retryable: true }) : undefined;
  expect((await work([9, 2, 3], { refuses })).worked).toEqual([[9, 2, 3], [2], [3], [9]]);
});

it('if Neon refuses the size of a portion, each message is worked alone, and only the one that is too large waits', async () => {
  const tooLarge = new DatabaseError('too large', { retryable: false, isAboutData: true });
  const { worked, waits } = await work([2, 3, 4], {
    refuses: (portion) => (portion.includes(3) ? tooLarge : undefined),
  });
  expect(worked).toEqual([[2, 3, 4], [2], [3], [4]]);
  expect(Object.keys(waits)).toEqual(['3']);
});

it('a mistake of ours is logged, and only the message that it is about waits', async () => {
  const refuses = (portion: readonly number[]) => (portion.includes(3) ? new TypeError('ours') : undefined);
  const { worked, waits, lines } = await work([2, 3, 4], { refuses });
  expect(worked).toEqual([[2, 3, 4], [2], [3], [4]]);
  expect(Object.keys(waits)).toEqual(['3']);
  expect(lines).toEqual(
    Array.from({ length: 2 }, () => expect.objectContaining({ outcome: 'error', error: 'TypeError' })),
  );
});
