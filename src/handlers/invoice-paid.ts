import { defineHandler } from 'claimcheck';
import { sql } from 'drizzle-orm';
import * as v from 'valibot';
import { effect } from '../effects/index.ts';
import { customerBalances, invoices } from '../tables.ts';

// An amount beyond 2^53 arrives as its digits.
const Amount = v.pipe(
  v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.digits())]),
  v.transform((amount) => BigInt(amount)),
);

const InvoicePaid = v.object({
  data: v.object({
    object: v.object({
      id: v.string(),
      customer: v.string(),
      customer_email: v.nullish(v.string()),
      amount_paid: Amount,
      currency: v.string(),
    }),
  }),
});

export const invoicePaid = defineHandler({
  schema: InvoicePaid,
  handle({ data, occurredAt }, { db }) {
    const { id, customer, customer_email, amount_paid, currency } = data.data.object;
    const changes = [
      db
        .insert(invoices)
        .values({ id, customer, amountPaid: amount_paid, currency, paidAt: occurredAt })
        // The first payment is the one that counts: `paid_at` stays as it was.
        .onConflictDoUpdate({ target: invoices.id, set: { amountPaid: amount_paid, currency } }),
      // A plain increment, which would be wrong if it ran twice. It can't, because the completion commits with it.
      db
        .insert(customerBalances)
        .values({ customer, balance: amount_paid })
        .onConflictDoUpdate({
          target: customerBalances.customer,
          set: { balance: sql`${customerBalances.balance} + excluded.balance` },
        }),
    ];
    if (!customer_email) return changes;
    return [...changes, effect('receipt', { to: customer_email, invoice: id, amount: String(amount_paid), currency })];
  },
});
