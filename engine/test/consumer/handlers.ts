import { sql } from 'drizzle-orm';
import * as v from 'valibot';
import { defineEffect, defineEffects, defineHandler, Effect } from '../../src/kit/index.ts';
import { balances } from '../fixture/tables.ts';

const Customer = v.object({ customer: v.string() });

/** Adds one to a balance, so that a second run of the same event changes the result. */
const increments = defineHandler({
  schema: Customer,
  handle: ({ data }, { db }) => [
    db.execute(sql`
      insert into fixture.balances (customer, balance) values (${data.customer}, 1)
      on conflict (customer) do update set balance = balances.balance + 1`),
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

/** What an effect may return, by mistake or not. */
export const RETURNED = {
  nothing: async () => undefined,
  'nothing, and no promise': () => undefined,
  null: async () => null,
  'a text': async () => 'ok',
  'a status': async () => ({ status: 200 }),
  'the JSON of an answer': async () => (await Response.json({ id: 'a' }).json()) as object,
  'several answers': () => [Promise.resolve(new Response())],
  'a Response of a library': async () => ({ status: 200, ok: true, headers: new Map(), body: {} }),
  'a Response that is read': async () => {
    const response = Response.json({ ok: true });
    await response.json();
    return response;
  },
  'a Response with a body': async () =>
    new Response(new ReadableStream({ cancel: () => console.log('{"cancelled":true}') })),
  'a Response with a reader on it': async () => {
    const response = new Response('ok');
    response.body?.getReader();
    return response;
  },
};

/** Effects whose other side answers in different ways, or not at all. */
export const { effects: testEffects, effect } = defineEffects({
  answers: {
    send: async ({ status, headers }: Answer) => new Response(null, { status, ...(headers ? { headers } : {}) }),
  },
  hangs: { send: (_payload: object) => new Promise<never>(() => {}) },
  'is aborted': {
    send: (_payload: object, { signal }) =>
      new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          console.log(JSON.stringify({ aborted: signal.reason.message }));
          reject(signal.reason);
        }),
      ),
  },
  'has a schema': defineEffect({
    schema: v.object({
      to: v.pipe(
        v.string(),
        v.transform((to) => [to]),
      ),
    }),
    send: async ({ to }) => new Response(null, { status: to[0] === 'somebody' ? 200 : 500 }),
  }),
  returns: { send: ({ what }: { what: keyof typeof RETURNED }) => RETURNED[what]() as Promise<Response> },
  'is not reached': {
    // Nothing listens on the port of `discard`.
    send: (_payload: object, { fetch }) => fetch('http://127.0.0.1:9/'),
  },
  throws: {
    send: async (_payload: object) => {
      throw new TypeError('it broke');
    },
  },
});

export const testHandlers = {
  increments,
  fails: throws(() => new TypeError('canary-9d1e is not a function')),
  'quotes a secret': defineHandler({
    handle(_event, { env }) {
      throw new TypeError(`Invalid URL: ${env.DATABASE_URL}/receipts`);
    },
  }),
  'notes its time': defineHandler({
    handle: ({ id, occurredAt }, { db }) => [
      db.insert(balances).values({ customer: id, balance: 1n, changedAt: occurredAt }),
    ],
  }),
  'throws NUL': throws(() => new Error('a\u0000b\ud800')),
  'builds nonsense': defineHandler({
    handle: (_event, { db }) => [
      db.insert(balances).values({ customer: 'c', balance: 1n, changedAt: new Date('nonsense') }),
    ],
  }),
  'breaks a check': defineHandler({
    handle: (_event, { db }) => [
      db.execute(sql`do $$ begin raise check_violation using constraint = 'another_check'; end $$`),
    ],
  }),
  'has numbers by key': defineHandler({ schema: v.record(v.string(), v.number()), handle: () => [] }),
  'has an effect that hangs': defineHandler({ handle: () => [effect('hangs', {})] }),
  'has an effect that is aborted': defineHandler({ handle: () => [effect('is aborted', {})] }),
  'notes what it gets': defineHandler({
    schema: v.looseObject({ nested: v.optional(v.object({ list: v.array(v.number()) })) }),
    handle({ receivedAt, occurredAt, ...event }) {
      const times = { receivedAt: receivedAt.getTime(), occurredAt: occurredAt.getTime() };
      console.log(JSON.stringify({ got: { ...event, ...times } }));
      return [];
    },
  }),
  'has two tries': { ...throws(() => new Error('no')), attempts: 2 },
  'has an effect and breaks a constraint': defineHandler({
    handle: (_event, { db }) => [
      effect('answers', { status: 200 }),
      db.execute(sql`insert into fixture.balances (customer, balance) values ('c', null)`),
    ],
  }),
  'has effects': defineHandler({
    handle: () => [
      effect('answers', { status: 200 }, 'first'),
      effect('answers', { status: 200 }, 'second'),
      // A kind that no longer exists, as after a deploy that renamed it.
      new Effect('constructor', {}, 'gone'),
    ],
  }),
  'has an effect answered': defineHandler({
    schema: v.object({ status: v.number(), headers: v.optional(v.record(v.string(), v.string()), {}) }),
    handle: ({ data }) => [effect('answers', data)],
  }),
  'has an effect with a schema': defineHandler({ handle: () => [effect('has a schema', { to: 'somebody' })] }),
  'has an effect that returns': defineHandler({
    schema: v.object({ what: v.picklist(Object.keys(RETURNED) as (keyof typeof RETURNED)[]) }),
    handle: ({ data }) => [effect('returns', data)],
  }),
  'has an effect that throws': defineHandler({ handle: () => [effect('throws', {})] }),
  'has an effect not reached': defineHandler({ handle: () => [effect('is not reached', {})] }),
};
