import { sql } from 'drizzle-orm';
import * as v from 'valibot';
import { defineEffects, defineHandler, Effect, PermanentError, RetryLater } from '../../src/app/define.ts';

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

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

/** Stand for other sides that answer this, or nothing. */
export const { effects: testEffects, effect } = defineEffects({
  answers: {
    send: async ({ status, headers }: Answer) => new Response(null, { status, ...(headers ? { headers } : {}) }),
  },
  'is not reached': {
    send: async (_payload: object) => {
      throw new TypeError('fetch failed');
    },
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
  'has effects': defineHandler({
    handle: () => [
      effect('answers', { status: 200 }, 'first'),
      effect('answers', { status: 200 }, 'second'),
      // As after a deploy that renamed a kind.
      new Effect('of a kind that is gone', {}, 'gone'),
    ],
  }),
  'has an effect answered': defineHandler({
    schema: v.object({ status: v.number(), headers: v.optional(v.record(v.string(), v.string()), {}) }),
    handle: ({ data }) => [effect('answers', data)],
  }),
  'has an effect not reached': defineHandler({ handle: () => [effect('is not reached', {})] }),
};
