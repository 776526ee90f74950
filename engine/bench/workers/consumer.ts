import { eq, sql } from 'drizzle-orm';
import * as v from 'valibot';
import { createConsumer } from '../../src/consumer/consumer.ts';
import { defineEffect, defineEffects, defineHandler } from '../../src/kit/index.ts';
import { log } from '../../src/shared/log.ts';
import { balances, invoices } from './drain-tables.ts';

const { effects, effect } = defineEffects({
  receipt: defineEffect<{ invoice: string }>({ send: async () => new Response() }),
});

const Paid = v.object({
  data: v.object({ object: v.object({ id: v.string(), customer: v.string(), amount_paid: v.number() }) }),
});

/** Like the sample app, upserts a row of the event's own and increments a row that it shares with other events. */
const paid = (withEffect: boolean) =>
  defineHandler({
    schema: Paid,
    handle({ data }, { db }) {
      const { id, customer, amount_paid: amount } = data.data.object;
      const changes = [
        db
          .insert(invoices)
          .values({ id, customer, amount })
          .onConflictDoUpdate({ target: invoices.id, set: { amount } }),
        db
          .insert(balances)
          .values({ customer, balance: amount })
          .onConflictDoUpdate({
            target: balances.customer,
            set: { balance: sql`${balances.balance} + excluded.balance` },
          }),
      ];
      return withEffect ? [...changes, effect('receipt', { invoice: id })] : changes;
    },
  });

/** The same changes as the peers' SQL. A query builder takes several times as long to build a statement. */
const paidByHand = defineHandler({
  schema: Paid,
  handle({ data }, { db }) {
    const { id, customer, amount_paid: amount } = data.data.object;
    return [
      db.execute(sql`
        insert into ${invoices} (id, customer, amount) values (${id}, ${customer}, ${amount})
        on conflict (id) do update set amount = excluded.amount`),
      db.execute(sql`
        insert into ${balances} (customer, balance) values (${customer}, ${amount})
        on conflict (customer) do update set balance = ${balances.balance} + excluded.balance`),
    ];
  },
});

/** Reads what the previous event may have written. */
const paidReading = defineHandler({
  schema: Paid,
  async handle({ data }, { db }) {
    const { id, customer, amount_paid: amount } = data.data.object;
    await db.select().from(invoices).where(eq(invoices.id, id));
    return [
      db.insert(invoices).values({ id, customer, amount }),
      db
        .insert(balances)
        .values({ customer, balance: amount })
        .onConflictDoUpdate({
          target: balances.customer,
          set: { balance: sql`${balances.balance} + excluded.balance` },
        }),
    ];
  },
});

export const handlers = {
  paid: paid(false),
  'paid, with an effect': paid(true),
  'paid, SQL by hand': paidByHand,
  'paid, reading': paidReading,
};

// Like engine/src/consumer/index.ts, including log lines.
export default createConsumer({
  handlers: { bench: handlers, standardwebhooks: { 'invoice.paid': handlers.paid } },
  sources: { bench: { types: [] }, standardwebhooks: { types: [] } },
  effects,
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 30_000,
  effectMs: 10_000,
});
