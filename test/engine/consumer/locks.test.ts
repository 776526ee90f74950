import { sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { balanceOf, claimEvents, consume, empty, query, ticket } from './in-workerd.ts';

beforeEach(empty);

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
