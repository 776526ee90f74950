import { bigint, pgSchema, text } from 'drizzle-orm/pg-core';

/** The tables that the drained events change, in a separate schema. */
const bench = pgSchema('bench');

export const invoices = bench.table('invoices', {
  id: text('id').primaryKey(),
  customer: text('customer').notNull(),
  amount: bigint('amount', { mode: 'number' }).notNull(),
});

export const balances = bench.table('balances', {
  customer: text('customer').primaryKey(),
  balance: bigint('balance', { mode: 'number' }).notNull(),
});
