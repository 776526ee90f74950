import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, vi } from 'vitest';
import { madeUpSecrets } from '../../cli/config/dev-vars.ts';
import { commandOf, parentOf } from '../../cli/lib/processes.ts';
import { KINDS, makeStorm } from '../../cli/samples/storm.ts';
import { makeCheckout } from '../checkout.ts';
import { useDatabase } from '../database.ts';
import { appOf, SOURCES } from '../orders-app.ts';
import { startReceiver } from '../receiver/in-node.ts';
import { WAIT } from '../running.ts';
import { SLOW_MACHINE } from '../slow-machine.ts';

const numberIn = (text: string, title: string) => Number(new RegExp(`^\\s*${title}\\s+(\\d+)`, 'm').exec(text)?.[1]);

/** What `npm run demo` prints for an app. */
async function demo(files: Record<string, string>) {
  const checkout = await makeCheckout(appOf(files));
  return checkout.run(['demo']).result.finally(checkout.remove);
}

const database = useDatabase();

it.each([
  ['every provider', ''],
  ['tenants of every provider that can have them', ', tenants: true'],
])('the demo’s storm is answered as it says, for %s', async (_who, more) => {
  const checkout = await makeCheckout(
    appOf({
      'sources.ts': `
      import { providers } from 'claimcheck/providers';
      const signTheUrl = ['square', 'twilio', 'hubspot-v3'];
      const handsOver = ['notion', 'asana'];
      export const sources = Object.fromEntries(Object.entries(providers).map(([name, provider]) =>
        [name, { provider, types: [], ...(signTheUrl.includes(name) ? { url: 'https://hooks.example.com/' + name } : {}),
          ...(handsOver.includes(name) ? {} : {${more.slice(1)} }) }]));`,
    }),
  );
  const { sources } = await import(pathToFileURL(join(checkout.path, 'src/sources.ts')).href);
  await checkout.remove();
  const secrets = madeUpSecrets(sources);
  const { deliveries, events, silent } = await makeStorm({
    sources,
    samples: {},
    workers: { url: 'https://example.com/', secrets },
    stack: database.stack,
  });
  // A receiver that doesn't reach Postgres knows no tenants.
  const env = more ? { ...secrets, DATABASE_URL: database.stack.workerUrls.receiver } : secrets;
  const receiver = startReceiver({ sources, env, ...SLOW_MACHINE });
  const wrong: object[] = [];
  for (const { source, kind, url, headers, body } of deliveries) {
    const { status } = await receiver.send(url.split('/webhooks/')[1] ?? '', { headers, body });
    const outcome = receiver.lines.at(-1)?.outcome;
    const isHeld = outcome === 'accepted' || (more && outcome === 'duplicate');
    if (kind === 'good' ? !isHeld : status !== KINDS[kind]) wrong.push({ source, kind, status, outcome });
  }
  expect(wrong).toEqual([]);
  expect(silent).toEqual([]);
  // Several events of nearly every provider: a few have samples that say the same every time, which is one event.
  expect(events.size).toBe(Object.keys(sources).length);
  expect([...events.values()].reduce((sum, count) => sum + count)).toBeGreaterThan(250);
});

it('the demo of an app with tenants works the events of one', async () => {
  const { code, out } = await demo({
    'sources.ts': SOURCES.replace("['order.paid']", "['order.paid'], tenants: true"),
    'effects/index.ts': 'export const effects = {};',
    'handlers/index.ts': `
    const handle = ({ id, tenant }) => { if (tenant !== 'acme' || !id.startsWith('acme:')) throw new Error(id); return []; };
    export const handlers = { orders: { 'order.paid': { handle } } };`,
  });
  expect([out.includes('should be'), code]).toEqual([false, 0]);
  expect(numberIn(out, 'events in the ledger')).toBe(25);
}, 600_000);

it('the demo that is interrupted while it starts leaves neither a server nor its data', async () => {
  const checkout = await makeCheckout();
  const { child, result } = checkout.run(['demo']);
  const isServer = (pid: number) => parentOf(pid) === child.pid && commandOf(pid)?.[0]?.endsWith('/postgres');
  const server = await vi.waitUntil(() => readdirSync('/proc').map(Number).find(isServer), WAIT);
  const [, , dataDir = ''] = commandOf(server) ?? [];
  child.kill('SIGINT');
  // As npm does in a terminal.
  setTimeout(() => child.kill('SIGINT'), 100);
  expect((await result).code).toBe(130);
  await vi.waitUntil(() => commandOf(server) === undefined, WAIT);
  expect(existsSync(join(dataDir, 'PG_VERSION'))).toBe(false);
  await checkout.remove();
});

it('the demo fails if a sample makes another type than the one whose handler should get it', async () => {
  const { code, out } = await demo({
    'sources.ts': SOURCES,
    'handlers/index.ts': `export const handlers = { orders: { 'order.paid': { handle: () => [] } } };`,
    'samples.ts': `
    export const samples = { orders: { 'order.paid': ({ id }) => ({ id, type: 'order.payed' }) } };
    export const answers = () => undefined;`,
  });
  expect(out).toMatch(/orders order\.paid, \d+ times ignored/);
  expect(out).toMatch(/\d+ deliveries REACHED NO HANDLER/);
  expect(code).toBe(1);
}, 600_000);

it('the demo finds every event, batches and events without ids included, writes the rows of the seed, and names the handlers that fail', async () => {
  const { code, out } = await demo({
    'tables.ts': `
    import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
    export const balances = pgTable('customer_balances', { customer: text().primaryKey(), balance: bigint({ mode: 'number' }) });`,
    'samples.ts': `
    import { balances } from './tables.ts';
    export const samples = {};
    export const answers = () => undefined;
    export const seed = (db) => [db.insert(balances).values({ customer: 'cus_1', balance: 0 })];`,
    'sources.ts': `
    import { gethook } from 'claimcheck/providers/gethook';
    import { sendgrid } from 'claimcheck/providers/sendgrid';
    import { stripe } from 'claimcheck/providers/stripe';
    export const sources = {
      stripe: { provider: stripe, types: [] },
      'in-batches': { provider: sendgrid, types: [] },
      'by-content': { provider: gethook, types: [], dedupe: 'content' },
      orders: { provider: gethook, types: ['order.paid', 'order.sent', 'order.booked'] },
    };`,
    'effects/index.ts': `
    import { defineEffect, defineEffects, PermanentError } from 'claimcheck';
    const send = () => { throw new PermanentError('no such shelf'); };
    export const { effects, effect } = defineEffects({ shelve: defineEffect({ send }) });`,
    'handlers/index.ts': `
    import { sql } from 'drizzle-orm';
    import { must, PermanentError } from 'claimcheck';
    import { effect } from '../effects/index.ts';
    import { balances } from '../tables.ts';
    const booked = (db) => must(db.update(balances).set({ balance: sql\`balance + 1\` }), 'no customer');
    const book = (_event, { db }) => [booked(db), effect('shelve', {})];
    export const handlers = {
      orders: {
        'order.paid': { handle() { throw new PermanentError('no such order'); } },
        'order.sent': { handle() { throw new TypeError('not a function'); } },
        'order.booked': { handle: book },
      },
    };`,
  });
  expect(out).not.toContain('should be');
  expect(out).not.toContain('holds no event');
  expect(out).toMatch(/orders order\.paid, \d+ times parked: PermanentError: no such order/);
  expect(out).toMatch(/orders order\.sent, \d+ times pending: TypeError: not a function/);
  expect(out).toMatch(/effect shelve, \d+ times parked: PermanentError: no such shelf/);
  expect(out).not.toContain('no customer');
  expect(code).toBe(1);
  expect(numberIn(out, 'events in the ledger')).toBeGreaterThanOrEqual(100);
  expect(numberIn(out, 'events lost')).toBe(0);
}, 600_000);
