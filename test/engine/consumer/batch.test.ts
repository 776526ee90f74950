import { expect, it } from 'vitest';
import { type ConsumerDependencies, workInPortions } from '../../../src/consumer/batch.ts';

const MINUTE_MS = 60_000;

/** Works messages with these numbers of deliveries. Each portion takes `minutes`. */
async function work(deliveries: readonly number[], { minutes = 0 } = {}) {
  let time = 0;
  const worked: number[][] = [];
  const waits = new Map<number, number>();
  const messages = deliveries.map((attempts) => ({
    attempts,
    retry: ({ delaySeconds = 0 }) => waits.set(attempts, delaySeconds),
  }));
  const dependencies = { now: () => new Date(time), random: () => 0.5, log: () => {} };
  await workInPortions(
    { messages } as unknown as MessageBatch<unknown>,
    dependencies as unknown as ConsumerDependencies,
    async (portion) => {
      worked.push(portion.map(({ attempts }) => attempts));
      time += minutes * MINUTE_MS;
    },
  );
  return { worked, waits: Object.fromEntries(waits) };
}

it('messages that come for the first time are worked together, then the others alone, the most redelivered last', async () => {
  expect(await work([3, 1, 7, 1, 2])).toEqual({ worked: [[1, 1], [2], [3], [7]], waits: {} });
});

it('a batch that has run for more than ten minutes leaves the rest of its messages to a later one', async () => {
  expect(await work([2, 3, 4, 5], { minutes: 6 })).toEqual({ worked: [[2], [3]], waits: { 4: 1, 5: 1 } });
});
