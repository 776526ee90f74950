import { afterEach, expect, it } from 'vitest';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { appOf } from '../orders-app.ts';

let checkout: Checkout;
afterEach(() => checkout.remove());

const numberIn = (text: string, title: string) => Number(new RegExp(`^\\s*${title}\\s+(\\d+)`, 'm').exec(text)?.[1]);

it('the demo finds every event of every provider, batches and providers without ids included, and names the handlers that fail', async () => {
  checkout = await makeCheckout(
    appOf({
      'sources.ts': `
      import { providers } from '../providers/index.ts';
      const signTheUrl = ['square', 'twilio', 'hubspot-v3'];
      const byName = Object.entries(providers).map(([name, provider]) =>
        [name, { provider, types: [], ...(signTheUrl.includes(name) ? { url: 'https://hooks.example.com/' + name } : {}) }]);
      export const sources = {
        ...Object.fromEntries(byName),
        'by-content': { provider: providers.gethook, types: [], dedupe: 'content' },
        orders: { provider: providers.gethook, types: ['order.paid', 'order.sent'] },
      };`,
      'handlers/index.ts': `
      import { PermanentError } from '#kit';
      export const handlers = {
        orders: {
          'order.paid': { handle() { throw new PermanentError('no such order'); } },
          'order.sent': { handle() { throw new TypeError('not a function'); } },
        },
      };`,
    }),
  );
  const { code, out } = await checkout.run(['demo']).result;
  expect(out).not.toContain('should be');
  expect(out).not.toContain('holds no event');
  expect(out).toMatch(/orders order\.paid, \d+ times parked: PermanentError: no such order/);
  expect(out).toMatch(/orders order\.sent, \d+ times pending: TypeError: not a function/);
  expect(code).toBe(1);
  // Several events of nearly every provider: a few have samples that say the same every time, which is one event.
  expect(numberIn(out, 'events in the ledger')).toBeGreaterThan(250);
  expect(numberIn(out, 'events lost')).toBe(0);
}, 600_000);

it('a handler that needs rows passes in the demo with a seed that writes them', async () => {
  checkout = await makeCheckout(
    appOf({
      'sources.ts': `
      import { gethook } from '../providers/gethook.ts';
      export const sources = { orders: { provider: gethook, types: ['order.paid'] } };`,
      'tables.ts': `
      import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
      export const balances = pgTable('customer_balances', { customer: text().primaryKey(), balance: bigint({ mode: 'number' }) });`,
      'handlers/index.ts': `
      import { sql } from 'drizzle-orm';
      import { must } from '#kit';
      import { balances } from '../tables.ts';
      const handle = (_event, { db }) => [must(db.update(balances).set({ balance: sql\`balance + 1\` }), 'no customer')];
      export const handlers = { orders: { 'order.paid': { handle } } };`,
      'samples.ts': `
      import { balances } from './tables.ts';
      export const samples = {};
      export const answers = () => undefined;
      export const seed = (db) => [db.insert(balances).values({ customer: 'cus_1', balance: 0 })];`,
    }),
  );
  const { code, out } = await checkout.run(['demo']).result;
  expect(out).toContain('Every event once, nothing lost');
  expect(code).toBe(0);
});
