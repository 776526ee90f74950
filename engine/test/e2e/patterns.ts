// The code of docs/patterns.md: all of its blocks, in their order (patterns.test.ts compares them), so that they are compiled and run.
import { and, eq, gte, inArray, sql } from 'drizzle-orm';
import { check, integer, pgTable, text } from 'drizzle-orm/pg-core';
import * as v from 'valibot';
import { currentState, defineEffect, defineEffects, defineHandler, must, PermanentError } from '../../src/kit/index.ts';

declare global {
  interface ConsumerEnv {
    readonly CARRIER_URL: string;
    readonly SHOP_URL: string;
    readonly SHOP_KEY: string;
    readonly EXPORTS: Workflow;
  }
}

export const notices = pgTable('notices', { shipment: text('shipment').primaryKey() });

const Delivered = v.object({ shipment: v.string(), email: v.string() });

export const delivered = defineHandler({
  schema: Delivered,
  async handle({ data: { shipment, email } }, { db }) {
    const known = await db.select().from(notices).where(eq(notices.shipment, shipment));
    if (known.length > 0) return [];
    return [
      must(db.insert(notices).values({ shipment }).onConflictDoNothing(), 'another event of this shipment was faster'),
      effect('mail', { to: email, shipment }),
    ];
  },
});

export const stock = pgTable(
  'stock',
  {
    sku: text('sku').primaryKey(),
    available: integer('available').notNull(),
  },
  ({ available }) => [check('stock_never_negative', sql`${available} >= 0`)],
);

const Reserved = v.object({ sku: v.string(), quantity: v.pipe(v.number(), v.integer(), v.minValue(1)) });

export const reserved = defineHandler({
  schema: Reserved,
  handle: ({ data: { sku, quantity } }, { db }) => [
    must(
      db
        .update(stock)
        .set({ available: sql`${stock.available} - ${quantity}` })
        .where(and(eq(stock.sku, sku), gte(stock.available, quantity))),
      new PermanentError(`fewer than ${quantity} of ${sku} in stock`),
    ),
  ],
});

export const counted = defineHandler({
  schema: Reserved,
  parkOn: ['stock_never_negative'],
  handle: ({ data: { sku, quantity } }, { db }) => [
    must(
      db
        .update(stock)
        .set({ available: sql`${stock.available} - ${quantity}` })
        .where(eq(stock.sku, sku)),
      new PermanentError(`there is no ${sku}`),
    ),
  ],
});

const STATES = ['placed', 'paid', 'shipped', 'delivered'] as const;

export const orders = pgTable('orders', {
  id: text('id').primaryKey(),
  state: text('state', { enum: STATES }).notNull(),
});

const Moved = v.object({ order: v.string(), state: v.picklist(STATES) });

export const moved = defineHandler({
  schema: Moved,
  handle: ({ data: { order, state } }, { db }) => [
    db
      .insert(orders)
      .values({ id: order, state })
      .onConflictDoUpdate({
        target: orders.id,
        set: { state },
        setWhere: inArray(orders.state, STATES.slice(0, STATES.indexOf(state))),
      }),
  ],
});

export const label = defineEffect<{ order: string }>({
  async send({ order }, { key, env, fetch, signal }) {
    const found = await fetch(`${env.CARRIER_URL}/labels?reference=${key}`, { signal });
    if (!found.ok) return found;
    const labels = (await found.json()) as unknown[];
    if (labels.length > 0) return found;
    const body = JSON.stringify({ order, reference: key });
    return fetch(`${env.CARRIER_URL}/labels`, { method: 'POST', body, signal });
  },
});

export const products = pgTable('products', {
  id: text('id').primaryKey(),
  // null: the product is deleted.
  title: text('title'),
  version: integer('version').notNull(),
});

const Changed = v.object({ product: v.pipe(v.string(), v.regex(/^\w+$/)) });
const Product = v.object({ title: v.string() });

export const changed = defineHandler({
  schema: Changed,
  async handle({ data: { product } }, tools) {
    const { db, env } = tools;
    const [stored] = await db.select().from(products).where(eq(products.id, product));
    const headers = { authorization: `Bearer ${env.SHOP_KEY}` };
    const state = await currentState(tools, `${env.SHOP_URL}/products/${product}`, Product, { headers });
    const title = state === 'gone' ? null : state.title;
    const version = stored?.version ?? 0;
    return [
      must(
        db
          .insert(products)
          .values({ id: product, title, version: 1 })
          .onConflictDoUpdate({
            target: products.id,
            set: { title, version: version + 1 },
            setWhere: eq(products.version, version),
          }),
        'another event of this product was faster',
      ),
    ];
  },
});

export const profiles = pgTable('profiles', {
  customer: text('customer').primaryKey(),
  version: integer('version').notNull(),
  email: text('email').notNull(),
});

const Profile = v.object({ customer: v.string(), version: v.number(), email: v.string() });

export const profileChanged = defineHandler({
  schema: Profile,
  async handle({ data: { customer, version, email } }, { db }) {
    const [stored] = await db.select().from(profiles).where(eq(profiles.customer, customer));
    if (stored && stored.version >= version) return [];
    const next = and(eq(profiles.customer, customer), eq(profiles.version, version - 1));
    return [
      must(
        version === 1
          ? db.insert(profiles).values({ customer, version, email }).onConflictDoNothing()
          : db.update(profiles).set({ version, email }).where(next),
        `version ${version} does not follow the one that is stored`,
      ),
    ];
  },
});

const Trial = v.object({ trial: v.string(), email: v.string(), endsAt: v.pipe(v.string(), v.isoTimestamp()) });

export const trialStarted = defineHandler({
  schema: Trial,
  handle({ data: { trial, email, endsAt } }) {
    const at = new Date(Date.parse(endsAt) - 3 * 86_400_000);
    return [effect('reminder', { to: email }, { at, key: trial })];
  },
});

export const trialEnded = defineHandler({
  schema: v.object({ trial: v.string() }),
  handle: ({ data: { trial } }) => [cancel('reminder', trial)],
});

export const exportData = defineEffect<{ account: string }>({
  async send({ account }, { key, env }) {
    try {
      await env.EXPORTS.create({ id: key, params: { account } });
    } catch (error) {
      // An earlier attempt may have started it, and its answer was lost.
      const known = await env.EXPORTS.get(key).catch(() => undefined);
      if (!known) throw error;
    }
    return new Response();
  },
});

export const reminder = defineEffect<{ to: string }>({ send: async () => new Response() });
export const mail = defineEffect<{ to: string; shipment: string }>({ send: async () => new Response() });
export const { effects, effect, cancel } = defineEffects({ mail, label, reminder, exportData });
