import { expect, vi } from 'vitest';
import type { OutsideRequest } from '../../cli/local/outside.ts';
import { WAIT } from '../database.ts';
import type { Queues } from './queues.ts';

const CUSTOMERS = 10;

/** An event that adds its number to a customer's balance: a balance shows every event that was lost or worked twice. */
export function charge(n: number): string {
  const object = { customer: `cus_${n % CUSTOMERS}`, amount: n };
  return JSON.stringify({ id: `evt_${n}`, type: 'charge.succeeded', created: 1_770_000_000, data: { object } });
}

interface Around {
  readonly sql: <Row extends object>(query: string, params?: unknown[]) => Promise<Row[]>;
  readonly queues: Queues;
  readonly outside: { readonly requests: readonly OutsideRequest[] };
}

/** Waits until the events 0 to `count` - 1 are done and their effects sent, and compares every balance and effect. */
export async function expectChargedOnce(count: number, { sql, queues, outside }: Around): Promise<void> {
  await vi.waitFor(async () => {
    const states = await sql(`
      select (select count(*)::int from webhooks.events where status = 'done') as done,
             (select count(*)::int from webhooks.effects where status = 'sent') as sent`);
    expect(states).toEqual([{ done: count, sent: count }]);
    expect(queues.unsettled).toBe(0);
  }, WAIT);
  await expectBalances(count, sql);
  // One key for each effect. A repeated call has the same key.
  expect(new Set(outside.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(count);
}

/** Every balance is that after the events 0 to `count` - 1. */
export async function expectBalances(count: number, sql: Around['sql']): Promise<void> {
  const total: Record<string, number> = {};
  for (let n = 0; n < count; n++) total[`cus_${n % CUSTOMERS}`] = (total[`cus_${n % CUSTOMERS}`] ?? 0) + n;
  const balances = await sql<{ customer: string; balance: string }>('select customer, balance from fixture.balances');
  expect(Object.fromEntries(balances.map(({ customer, balance }) => [customer, Number(balance)]))).toEqual(total);
}
