import { useApp } from 'claimcheck/testing';
import { expect, it } from 'vitest';
import { customerBalances, invoices } from '../src/tables.ts';

const app = useApp();

const invoicePaid = (amount: unknown, changes = {}) => ({
  id: `evt_${crypto.randomUUID()}`,
  type: 'invoice.paid',
  created: Date.UTC(2026, 2, 1) / 1000,
  data: {
    object: { id: 'in_1', customer: 'cus_1', customer_email: 'a@example.com', amount_paid: amount, currency: 'eur' },
  },
  ...changes,
});

it('a paid invoice is booked, added to the balance, and confirmed by a receipt', async () => {
  const event = await app.deliver('stripe', 'invoice.paid', invoicePaid(4200));
  expect(event).toMatchObject({ status: 'done', effects: [{ payload: { invoice: 'in_1' }, status: 'sent' }] });
  expect(await app.db.select().from(customerBalances)).toEqual([{ customer: 'cus_1', balance: 4200n }]);
});

it('a receipt that the mail service refuses is parked, and the invoice is booked all the same', async () => {
  app.outside.answer = () => new Response('no such address', { status: 422 });
  const event = await app.deliver('stripe', 'invoice.paid', invoicePaid(4200));
  expect(event).toMatchObject({
    status: 'done',
    effects: [{ status: 'parked', error: expect.stringContaining('422') }],
  });
  expect(await app.db.select().from(invoices)).toHaveLength(1);
});

it('an invoice that is paid again keeps the time of its first payment', async () => {
  await app.deliver('stripe', 'invoice.paid', invoicePaid(4200));
  await app.deliver('stripe', 'invoice.paid', invoicePaid(100, { created: Date.UTC(2026, 2, 2) / 1000 }));
  const [invoice] = await app.db.select().from(invoices);
  expect(invoice).toMatchObject({ amountPaid: 100n, paidAt: new Date('2026-03-01T00:00:00Z') });
  expect(await app.db.select().from(customerBalances)).toEqual([{ customer: 'cus_1', balance: 4300n }]);
});

it('an invoice is booked at the time of its payment, also in a year to come', async () => {
  // A time more than a day ahead would not be believed.
  app.now = new Date('2041-03-01T12:00:00Z');
  await app.deliver('stripe', 'invoice.paid', invoicePaid(100, { created: Date.UTC(2041, 2, 1) / 1000 }));
  expect(await app.db.select().from(invoices)).toMatchObject([{ paidAt: new Date('2041-03-01T00:00:00Z') }]);
});

it('an amount beyond 2^53 reaches the balance unrounded', async () => {
  const text = JSON.stringify(invoicePaid(0)).replace('"amount_paid":0', '"amount_paid":9007199254740993');
  await app.deliver('stripe', 'invoice.paid', text);
  expect(await app.db.select().from(customerBalances)).toEqual([{ customer: 'cus_1', balance: 9007199254740993n }]);
});

it.each([-1.5, 'twelve', null, [1]])('an invoice with the amount %j is parked and changes nothing', async (amount) => {
  const event = await app.deliver('stripe', 'invoice.paid', invoicePaid(amount));
  expect(event).toMatchObject({ status: 'parked', error: expect.stringContaining('data.object.amount_paid') });
  expect(await app.db.select().from(customerBalances)).toEqual([]);
});
