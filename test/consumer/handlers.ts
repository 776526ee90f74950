import { sql } from 'drizzle-orm';
import * as v from 'valibot';
import { defineHandler, Effect, PermanentError, RetryLater } from '../../src/app/define.ts';

const Customer = v.object({ customer: v.string() });

/** Adds one to a balance: run twice, it shows. */
const increments = defineHandler({
  schema: Customer,
  handle: ({ data }, { db }) => [
    db.execute(sql`
      insert into customer_balances (customer, balance) values (${data.customer}, 1)
      on conflict (customer) do update set balance = customer_balances.balance + 1`),
  ],
});

const throws = (error: () => unknown) =>
  defineHandler({
    handle() {
      throw error();
    },
  });

export const testHandlers = {
  increments,
  fails: throws(() => new TypeError('canary-9d1e is not a function')),
  'fails for good': throws(() => new PermanentError('no such customer')),
  'asks for time': throws(() => new RetryLater(90)),
  'throws a string': throws(() => 'just text'),
  'throws NUL': throws(() => new Error('a\u0000b\ud800')),
  'has two tries': { ...throws(() => new Error('no')), attempts: 2 },
  'breaks a constraint': defineHandler({
    handle: (_event, { db }) => [db.execute(sql`insert into customer_balances (customer, balance) values ('c', null)`)],
  }),
  'has two effects': defineHandler({
    handle: () => [
      new Effect('receipt', { to: 'a' }, 'first'),
      new Effect('receipt', { to: 'b' }, 'second'),
      new Effect('gone', {}, 'gone'),
    ],
  }),
};
