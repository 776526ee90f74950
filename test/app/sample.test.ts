import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { balanceOf, claimEvents, consume, empty, query, ticket } from '../engine/consumer/in-workerd.ts';

const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 12, 0, second));

beforeEach(empty);

describe('the state of an e-mail address', () => {
  const mail = (id: string, type: 'delivery' | 'bounce', second: number) => ({
    source: 'sesmetric',
    id,
    type,
    data: { email: 'a@example.com' },
    occurredAt: at(second),
  });
  const work = async (ids: string[]) => {
    for (const id of ids) await consume([ticket(id, 'sesmetric')]);
    return query(sql`select status, changed_by from email_status`);
  };

  it.each(permutations(['a', 'b', 'c', 'd']))(
    'is that of the newest event, worked as %s, %s, %s, %s',
    async (...order) => {
      await claimEvents(
        mail('a', 'delivery', 1),
        mail('b', 'bounce', 2),
        mail('c', 'delivery', 3),
        mail('d', 'bounce', 4),
      );
      expect(await work(order)).toEqual([{ status: 'bounced', changed_by: 'd' }]);
    },
  );

  it.each(permutations(['a', 'b', 'c']))(
    'is that of the highest id among events of one moment, worked as %s, %s, %s',
    async (...order) => {
      await claimEvents(mail('a', 'bounce', 1), mail('b', 'bounce', 1), mail('c', 'delivery', 1));
      expect(await work(order)).toEqual([{ status: 'delivered', changed_by: 'c' }]);
    },
  );

  it('is the same where all events come in one batch', async () => {
    await claimEvents(mail('d', 'bounce', 4), mail('a', 'delivery', 1), mail('c', 'delivery', 3));
    await consume([ticket('d', 'sesmetric'), ticket('a', 'sesmetric'), ticket('c', 'sesmetric')]);
    expect(await query(sql`select status from email_status`)).toEqual([{ status: 'bounced' }]);
  });
});

describe('a paid invoice', () => {
  const invoice = (id: string, second: number, amount: unknown = 4200) => ({
    source: 'stripe',
    id,
    type: 'invoice.paid',
    occurredAt: at(second),
    data: {
      data: { object: { id: 'in_1', customer: 'cus_1', customer_email: null, amount_paid: amount, currency: 'eur' } },
    },
  });

  it('keeps the time of its first payment', async () => {
    await claimEvents(invoice('a', 1), invoice('b', 2, 100));
    await consume([ticket('a', 'stripe')]);
    await consume([ticket('b', 'stripe')]);
    expect(await query(sql`select amount_paid, paid_at from invoices`)).toEqual([
      { amount_paid: '100', paid_at: '2026-03-01 12:00:01+00' },
    ]);
    expect(await balanceOf('cus_1')).toBe('4300');
  });

  it.each([-1.5, 'twelve', null, [1]])('with the amount %j is parked, and changes nothing', async (amount) => {
    await claimEvents(invoice('a', 1, amount));
    await consume([ticket('a', 'stripe')]);
    const rows = await query(sql`select status, last_error from webhook_events`);
    expect(rows).toEqual([{ status: 'parked', last_error: expect.stringContaining('data.object.amount_paid') }]);
    expect(await balanceOf('cus_1')).toBeUndefined();
  });
});

describe('a push', () => {
  const push = (id: string, full_name: unknown) => ({
    source: 'github',
    id,
    type: 'push',
    data: { repository: { full_name, default_branch: 'what the payload says' } },
  });

  it('writes what GitHub says now, whatever the payload says', async () => {
    await claimEvents(push('a', 'octo-org/sample'), push('b', 'octo-org/.github'));
    await consume([ticket('a', 'github'), ticket('b', 'github')]);
    expect(await query(sql`select full_name, default_branch from repositories order by 1`)).toEqual([
      { full_name: 'octo-org/.github', default_branch: 'main' },
      { full_name: 'octo-org/sample', default_branch: 'main' },
    ]);
  });

  it.each(['octo-org/..', '../admin', 'octo-org/a/b', 'octo-org/a?b', 7])(
    'for the repository %j is parked',
    async (name) => {
      await claimEvents(push('a', name));
      await consume([ticket('a', 'github')]);
      expect(await query(sql`select status from webhook_events`)).toEqual([{ status: 'parked' }]);
    },
  );
});

function permutations(values: string[]): string[][] {
  if (values.length <= 1) return [values];
  return values.flatMap((first) =>
    permutations(values.filter((value) => value !== first)).map((rest) => [first, ...rest]),
  );
}
