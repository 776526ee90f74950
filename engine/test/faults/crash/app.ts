// The app of the crash tests: one handler for every way in which an event can end.
import { eq, sql } from 'drizzle-orm';
import * as v from 'valibot';
import {
  defineEffect,
  defineEffects,
  defineHandler,
  defineHandlers,
  defineProvider,
  defineSources,
  newer,
  RetryLater,
  type Tools,
} from '../../../src/kit/index.ts';
import { github } from '../../../src/providers/github.ts';
import { stripe } from '../../../src/providers/stripe.ts';
import { balances, states } from '../../fixture/tables.ts';
import { runs } from './interleaving.ts';

/** An in-house sender of batches. It signs as GetHook does, so that the tests can sign for it. */
const batch = defineProvider({
  name: 'batch',
  docs: 'The batches of the crash tests.',
  scheme: { signature: 'header:x-gethook-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  batch: { each: ['*'] },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
});

const types = ['charge', 'reads', 'flaky', 'hopeless', 'state', 'kills', 'appends', 'adds'] as const;

export const sources = defineSources({
  stripe: { provider: stripe, types },
  github: { provider: github, types: ['push'] },
  batch: { provider: batch, types },
  keyed: { provider: stripe, types, orderKey: '{json:data.customer}' },
  // A suspected replay must not hold the key, and what is parked must not either.
  going: { provider: batch, types, orderKey: { of: '{json:data.customer}', afterParked: 'continue' } },
});

export type SourceName = keyof typeof sources;

/** `fails`: how the other side answers: always 200, 503 to the first call, or always 400. */
const Wanted = v.object({ name: v.string(), fails: v.picklist(['never', 'once', 'always']) });
const Body = v.object({
  data: v.object({ customer: v.string(), amount: v.number(), effects: v.optional(v.array(Wanted), []) }),
});

export type Charge = v.InferInput<typeof Body>['data'];
export type Call = v.InferOutput<typeof Wanted> & { readonly customer: string };

export const OUTSIDE_URL = 'https://outside.example.com/call';

export const { effects, effect } = defineEffects({
  call: defineEffect<Call>({
    send: (payload, { key, fetch, signal }) =>
      fetch(OUTSIDE_URL, {
        method: 'POST',
        headers: { 'idempotency-key': key },
        body: JSON.stringify(payload),
        signal,
      }),
  }),
});

function changesOf({ customer, amount, effects = [] }: Charge, db: Tools['db']) {
  const increment = db
    .insert(balances)
    .values({ customer, balance: BigInt(amount) })
    .onConflictDoUpdate({ target: balances.customer, set: { balance: sql`${balances.balance} + excluded.balance` } });
  return [increment, ...effects.map((wanted) => effect('call', { ...wanted, customer }, wanted.name))];
}

const charge = defineHandler({ schema: Body, handle: ({ data }, { db }) => changesOf(data.data, db) });

const reads = defineHandler({
  schema: Body,
  async handle({ data }, { db }) {
    await db.select().from(balances).where(eq(balances.customer, data.data.customer));
    return changesOf(data.data, db);
  },
});

const hopeless = defineHandler({
  attempts: 3,
  handle() {
    throw new Error('as always');
  },
});

const state = defineHandler({
  handle: ({ id, occurredAt, receivedAt }, { db }) => {
    const row = { thing: 'thing', state: id, changedAt: occurredAt, receivedAt, changedBy: id };
    const setWhere = newer(states.changedAt, states.receivedAt, states.changedBy);
    return [db.insert(states).values(row).onConflictDoUpdate({ target: states.thing, set: row, setWhere })];
  },
});

/** Appends its id to the list of its customer, which it has read. */
const appends = defineHandler({
  schema: Body,
  async handle({ id, orderKey, late, occurredAt, receivedAt, data }, { db }) {
    const thing = orderKey ?? '';
    const [row] = await db.select().from(states).where(eq(states.thing, thing));
    const list = [row?.state, late ? `${id} late` : id].filter(Boolean).join(',');
    const changed = { thing, state: list, changedAt: occurredAt, receivedAt, changedBy: id };
    return [
      db.insert(states).values(changed).onConflictDoUpdate({ target: states.thing, set: changed }),
      ...changesOf(data.data, db),
    ];
  },
});

/** The same without reading. */
const adds = defineHandler({
  schema: Body,
  handle({ id, orderKey, late, occurredAt, receivedAt, data }, { db }) {
    const thing = orderKey ?? '';
    const own = late ? `${id} late` : id;
    const set = { state: sql`${states.state} || ',' || ${own}` };
    return [
      db
        .insert(states)
        .values({ thing, state: own, changedAt: occurredAt, receivedAt, changedBy: id })
        .onConflictDoUpdate({ target: states.thing, set }),
      ...changesOf(data.data, db),
    ];
  },
});

/** Ends its run, as an isolate without memory does. */
const kills = defineHandler({
  handle() {
    runs.getStore()?.run.end();
    return new Promise<never>(() => {});
  },
});

/** Handlers of one trial, because one of them counts its calls. */
export function createHandlers() {
  let calls = 0;
  const flaky = defineHandler({
    schema: Body,
    handle({ data }, { db }) {
      calls++;
      if (calls === 1) throw new Error('the first time');
      if (calls === 2) throw new RetryLater(90);
      return changesOf(data.data, db);
    },
  });
  const ofTypes = { charge, reads, flaky, hopeless, state, kills, appends, adds };
  return defineHandlers(sources, {
    stripe: ofTypes,
    batch: ofTypes,
    keyed: ofTypes,
    going: ofTypes,
    github: { push: charge },
  });
}
