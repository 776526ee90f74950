import { beforeEach, expect, it } from 'vitest';
import { createConsumer } from '../../../src/consumer/worker.ts';
import { balanceOf, claimEvents, consume, empty, events, QUEUES, ticket } from './in-workerd.ts';

beforeEach(empty);

it('a queue is routed by its exact name, whatever words the name contains', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  expect(QUEUES.events).toBe('deadline-events');
  expect((await consume([ticket('a')], QUEUES.events)).acked).toEqual(['0']);
  expect(await balanceOf('c')).toBe('1');
});

it('the messages of a queue that no variable names are kept, and the log names the queue', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  const lines: object[] = [];
  const retries: unknown[] = [];
  const consumer = createConsumer({
    handlers: {},
    effects: {},
    now: () => new Date(),
    random: () => 0,
    log: (line) => lines.push(line),
    handlerMs: 1,
    effectMs: 1,
  });
  const batch = { queue: 'other-events', messages: [], retryAll: (options: unknown) => retries.push(options) };
  const env = { EVENTS_QUEUE: 'events', EVENTS_DEAD_QUEUE: 'a', EFFECTS_QUEUE: 'b', EFFECTS_DEAD_QUEUE: 'c' };
  await consumer.queue?.(batch as unknown as MessageBatch, env as ConsumerEnv, {} as ExecutionContext);
  expect(lines).toEqual([{ step: 'configuration', outcome: 'unknown_queue', queue: 'other-events' }]);
  expect(retries).toEqual([{ delaySeconds: 3600 }]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);
});
