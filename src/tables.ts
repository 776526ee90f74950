// The sample app's tables: replace them with yours, then `npm run db:generate`.
import { bigint, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

const time = (name: string) => timestamp(name, { withTimezone: true });
// Smallest currency units. A bigint, since money must not be rounded.
const amount = (name: string) => bigint(name, { mode: 'bigint' });

export const invoices = pgTable('invoices', {
  id: text('id').primaryKey(),
  customer: text('customer').notNull(),
  amountPaid: amount('amount_paid').notNull(),
  currency: text('currency').notNull(),
  paidAt: time('paid_at').notNull(),
});

export const customerBalances = pgTable('customer_balances', {
  customer: text('customer').primaryKey(),
  balance: amount('balance').notNull(),
});

export const emailStatus = pgTable('email_status', {
  email: text('email').primaryKey(),
  status: text('status', { enum: ['delivered', 'bounced'] }).notNull(),
  // Which event wrote the row: only a newer one may write it again.
  changedAt: time('changed_at').notNull(),
  receivedAt: time('received_at').notNull(),
  changedBy: text('changed_by').notNull(),
});

export const repositories = pgTable('repositories', {
  fullName: text('full_name').primaryKey(),
  defaultBranch: text('default_branch').notNull(),
  pushedAt: time('pushed_at').notNull(),
});
