import { afterEach, expect, it, vi } from 'vitest';
import type { Fault } from '../../../scripts/local/faults.ts';
import { useRunning } from '../running.ts';
import type { SignedDelivery } from '../signatures.ts';
import { report } from './form.ts';

const running = useRunning({ consumer: 'test/engine/faults/wrangler.toml' });
const { post, sign, sql } = running;

const EVENTS = 1000;
const DELIVERIES = 5;
const CUSTOMERS = 20;
/** Events whose payload doesn't match the handler's schema. Only these may be parked. */
const BROKEN = 20;
const SENDERS = 40;

const chance = (probability: number) => Math.random() < probability;
const oneOf = <Value>(values: readonly Value[]) => values[Math.floor(Math.random() * values.length)];

const FAULTS: Fault[] = [
  { kind: 'server error' },
  { kind: 'connection died' },
  { kind: 'reply dropped' },
  { kind: 'refused' },
  { kind: 'not JSON' },
  { kind: 'slow', ms: 1700 },
];

function charge(n: number): string {
  const customer = `cus_${n % CUSTOMERS}`;
  const object = { id: `in_${n}`, customer, amount: n, currency: 'eur' };
  const data = n < BROKEN ? { object: { ...object, amount: 'a lot' } } : { object };
  return JSON.stringify({ id: `evt_${n}`, type: 'charge.succeeded', created: 1_770_000_000, data });
}

/** Repeats a delivery until the answer is 200, as providers do. Every answer is kept. */
async function deliver(delivery: SignedDelivery, answers: number[]): Promise<void> {
  for (;;) {
    const { status } = await post('stripe', delivery);
    answers.push(status);
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

afterEach(() => {
  running.stack.neon.fault = undefined;
  running.stack.outside.answer = undefined;
});

it('a thousand events that are delivered five times each, while requests fail at random, are worked exactly once each', async () => {
  const signed = await Promise.all(Array.from({ length: EVENTS }, (_, n) => sign('stripe', charge(n))));
  const queue = signed
    .flatMap((delivery) => Array.from({ length: DELIVERIES }, () => ({ delivery, order: Math.random() })))
    .sort((a, b) => a.order - b.order)
    .map(({ delivery }) => delivery);

  running.stack.neon.fault = () => (chance(0.03) ? oneOf(FAULTS) : undefined);
  running.stack.outside.answer = () =>
    chance(0.1) ? { status: 503, headers: { 'retry-after': '1' } } : chance(0.1) ? { status: 500 } : { status: 200 };

  const answers: number[] = [];
  const sender = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await deliver(next, answers);
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  expect(new Set(answers).difference(new Set([200, 503]))).toEqual(new Set());

  // The time is a parameter of the sweep, so each run can be hours after the one before.
  let hours = 1;
  await vi.waitFor(
    async () => {
      const scheduledTime = new Date(Date.now() + hours * 3_600_000);
      hours = Math.min(hours * 2, 128);
      await running.workers.tick(scheduledTime);
      const [pending] = await sql<{ events: number; effects: number }>(`
        select (select count(*)::int from webhook_events where status = 'pending') as events,
               (select count(*)::int from webhook_effects where status = 'pending') as effects`);
      expect(pending).toEqual({ events: 0, effects: 0 });
    },
    { timeout: 90_000, interval: 3000 },
  );

  const done = Array.from({ length: EVENTS - BROKEN }, (_, n) => n + BROKEN);
  expect(await sql('select status, count(*)::int from webhook_events group by 1 order by 1')).toEqual([
    { status: 'done', count: done.length },
    { status: 'parked', count: BROKEN },
  ]);
  const balances = await sql<{ customer: string; balance: string }>('select customer, balance from fixture.balances');
  for (const { customer, balance } of balances) {
    const sum = done.filter((n) => `cus_${n % CUSTOMERS}` === customer).reduce((total, n) => total + n, 0);
    expect([customer, balance]).toEqual([customer, String(sum)]);
  }
  expect(balances).toHaveLength(CUSTOMERS);

  // One key for each effect. A repeated call has the same key, or there would be more keys than effects.
  expect(await sql('select status, count(*)::int from webhook_effects group by 1')).toEqual([
    { status: 'sent', count: done.length },
  ]);
  const calls = running.stack.outside.requests;
  expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(done.length);
  report('storm', {
    events: EVENTS,
    deliveries: answers.length,
    'answered 503': answers.filter((status) => status === 503).length,
    done: done.length,
    parked: BROKEN,
    'idempotency keys': done.length,
    'calls to the outside': calls.length,
    'lost or doubled': 0,
  });
}, 240_000);
