import { env } from 'cloudflare:workers';
import { sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { createConsumer } from '../../../src/consumer/consumer.ts';
import { balanceOf, claimEvents, consume, empty, events, QUEUES, query, ticket } from './in-workerd.ts';

beforeEach(empty);

/** A consumer without any code of an app. */
const NOTHING = {
  handlers: {},
  sources: {},
  effects: {},
  now: () => new Date(),
  random: () => 0,
  handlerMs: 1,
  effectMs: 1,
};

it('a queue is routed by its exact name, whatever words the name contains', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  expect(QUEUES.events).toBe('deadline-events');
  expect((await consume([ticket('a')], QUEUES.events)).acked).toEqual(['0']);
  expect(await balanceOf('c')).toBe('1');
});

it('the cron sends overdue tickets again, and deletes by the days of its variables', async () => {
  await claimEvents({ id: 'a', type: 'increments' });
  await query(sql`update webhooks.events set due_at = received_at`);
  const lines: object[] = [];
  const sent: unknown[] = [];
  const { scheduled } = createConsumer({ ...NOTHING, log: (line) => lines.push(line) });
  const queue = { sendBatch: async (messages: { body: unknown }[]) => void sent.push(...messages) };
  const settings = { DEDUPE_DAYS: 30, BODY_DAYS: 7, EVENTS: queue, EFFECTS: queue };
  const controller = { scheduledTime: Date.now() + 60_000 } as ScheduledController;
  await scheduled?.(controller, { ...env, ...settings } as unknown as ConsumerEnv, {} as ExecutionContext);
  expect(sent).toEqual([ticket('a')]);
  expect(lines).toEqual([
    { step: 'sweep', outcome: 'done', events: 1, effects: 0 },
    { step: 'prune', outcome: 'done', events: 0, bodies: 0 },
  ]);
});

it('the messages of a queue that no variable names are kept, and the log names the queue', async () => {
  await claimEvents({ id: 'a', type: 'increments', data: { customer: 'c' } });
  const lines: object[] = [];
  const retries: unknown[] = [];
  const consumer = createConsumer({ ...NOTHING, log: (line) => lines.push(line) });
  const batch = { queue: 'other-events', messages: [], retryAll: (options: unknown) => retries.push(options) };
  const names = { EVENTS_QUEUE: 'events', EVENTS_DEAD_QUEUE: 'a', EFFECTS_QUEUE: 'b', EFFECTS_DEAD_QUEUE: 'c' };
  await consumer.queue?.(batch as unknown as MessageBatch, names as ConsumerEnv, {} as ExecutionContext);
  expect(lines).toEqual([{ step: 'configuration', outcome: 'unknown_queue', queue: 'other-events' }]);
  expect(retries).toEqual([{ delaySeconds: 3600 }]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);
});

it('eight concurrent consumers that lock the same rows in opposite orders commit each change once', async () => {
  const customers = ['c0', 'c1', 'c2', 'c3', 'c4'];
  const perGroup = 50;
  // A group is worked in the order of its keys. Every second group changes the customers in the opposite order.
  const groups = Array.from({ length: 8 }, (_, group) =>
    Array.from({ length: perGroup }, (_, n) => {
      const at = Math.floor(n / (perGroup / customers.length));
      const customer = customers[group % 2 === 0 ? at : customers.length - 1 - at];
      return { id: `${group}_${String(n).padStart(2, '0')}`, type: 'increments', data: { customer } };
    }),
  );
  await Promise.all(groups.map((group) => claimEvents(...group)));

  await Promise.all(
    groups.map(async (group) => {
      for (let left = group.map(({ id }) => id); left.length > 0; ) {
        const { retried } = await consume(left.map((id) => ticket(id)));
        left = retried.map(({ id }) => left[Number(id)] ?? '');
      }
    }),
  );

  const total = groups.length * perGroup;
  expect(await query(sql`select status, count(*)::int from webhooks.events group by 1`)).toEqual([
    { status: 'done', count: total },
  ]);
  const balances = await Promise.all(customers.map(balanceOf));
  expect(balances).toEqual(customers.map(() => String(total / customers.length)));
});
