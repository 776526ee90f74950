import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { madeUpKeys } from '../../cli/samples/sign.ts';
import { type Provider, providers } from '../../src/providers/index.ts';
import { createTenants } from '../../src/tenants/index.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { useDatabase } from '../database.ts';
import { appOf } from '../orders-app.ts';
import { verdictOn } from '../verify/deliveries.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const database = useDatabase();
let server: Server;
let receiver = '';
let checkout: Checkout;
const received: Received[] = [];
/** What the next deliveries are answered. */
const statuses: number[] = [];
const lastBody = () => new TextDecoder().decode(received.at(-1)?.body);

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const { method = '', url = '' } = request;
    received.push({ method, url: `${receiver}${url}`, headers, body: Uint8Array.from(Buffer.concat(chunks)) });
    response.writeHead(statuses.shift() ?? 200).end('{}');
  });
  receiver = `http://127.0.0.1:${await listen(server, 0)}`;
  checkout = await makeCheckout(
    appOf({
      'sources.ts': `
      import { gethook } from 'claimcheck/providers/gethook';
      import { shopify } from 'claimcheck/providers/shopify';
      export const sources = {
        orders: { provider: gethook, types: ['order.paid', 'order.sent'] },
        shop: { provider: shopify, types: ['orders/paid'] },
        shops: { provider: shopify, types: ['orders/paid'], tenants: true },
      };`,
      'samples.ts': `
      export const samples = { orders: { 'order.paid': ({ id, type }) => ({ id, type, cents: 4200 }) } };
      export const answers = () => undefined;`,
    }),
  );
});
afterAll(async () => {
  server.close();
  await checkout.remove();
});

const SECRETS = { ORDERS_WEBHOOK_SECRET: 'a secret', SHOP_WEBHOOK_SECRET: 'another secret' };
const send = (args: string[], env: Record<string, string> = {}) =>
  checkout.call(['send', ...args], { ...SECRETS, ...env });
const sendTo = (args: string[], env: Record<string, string> = {}) => send([...args, '--url', receiver], env);

describe('npm run send', () => {
  it('without a source says how it is used', async () => {
    expect(await send([])).toMatchObject({ code: 0, out: expect.stringContaining('npm run send -- <source> [type]') });
  });

  it('sends the first type that the source is subscribed to, with the body of src/samples.ts', async () => {
    const { code, out } = await sendTo(['orders', '--id', 'o_1']);
    expect([code, lastBody()]).toEqual([0, '{"id":"o_1","type":"order.paid","cents":4200}']);
    expect(out).toContain('event o_1, type order.paid');
  });

  it('takes a body from the command line, and from a file', async () => {
    await sendTo(['orders', '--body', '{"id":"o_2"}']);
    expect(lastBody()).toBe('{"id":"o_2"}');
    await writeFile(join(checkout.path, 'order.json'), '{"id":"o_3"}');
    await sendTo(['orders', '--body', '@order.json']);
    expect(lastBody()).toBe('{"id":"o_3"}');
  });

  it('says that a body contradicts the type that was asked for', async () => {
    const body = '{"id":"o_4","type":"order.sent"}';
    const { out } = await sendTo(['orders', 'order.paid', '--body', body]);
    expect(out).toContain('not the type order.paid that you asked for');
    expect((await sendTo(['orders', 'order.sent', '--body', body])).out).not.toContain('asked for');
  });

  it('sends the same event as often as it is told, and fails if one of the deliveries is refused', async () => {
    const before = received.length;
    statuses.push(200, 503);
    const { code } = await sendTo(['orders', '--times', '5', '--concurrency', '2']);
    const bodies = received.slice(before).map(({ body }) => new TextDecoder().decode(body));
    expect([code, bodies.length, new Set(bodies).size]).toEqual([1, 5, 1]);
  });

  it('lists every provider with the types of its sample', async () => {
    const { code, out } = await send(['--list']);
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(Object.keys(providers));
    expect(out).toMatch(/^stripe +invoice\.paid$/m);
  });

  it.each([
    ['discord', 'DISCORD_WEBHOOK_SIGNING_KEY'],
    ['mailgun', 'MAILGUN_WEBHOOK_SECRET'],
    ['mollie-classic', 'MOLLIE_CLASSIC_WEBHOOK_SECRET'],
    ['hubspot-v3', 'HUBSPOT_V3_WEBHOOK_SECRET'],
  ])('sends for %s, which no source names yet, a delivery that the receiver would accept', async (name, variable) => {
    const provider = providers[name] as Provider;
    const keys = madeUpKeys(provider);
    const { code, error } = await sendTo([name], { [variable]: keys.signingKey });
    expect([code, error]).toEqual([0, '']);
    const sent = received.at(-1);
    expect(sent && (await verdictOn(provider, sent, [keys.secret], new Date()))).toMatchObject({ outcome: 'verified' });
  });

  it('sends for a tenant, which it makes, with the secret that the tenant has', async () => {
    const TENANTS_KEY = 'k'.repeat(32);
    const devVars = { DATABASE_URL: database.stack.databaseUrl, TENANTS_KEY, SHOPS_WEBHOOK_SECRET: 'a local secret' };
    const lines = Object.entries(devVars).map(([name, value]) => `${name}="${value}"\n`);
    await checkout.write('.dev.vars', lines.join(''));
    const sources = { shops: { provider: providers.shopify as Provider, types: [], tenants: true } } as const;
    const tenants = createTenants({ sources, databaseUrl: database.stack.databaseUrl, tenantsKey: TENANTS_KEY });
    await tenants.put('shops', 'globex', { secret: 'their own secret' });
    for (const [tenant, secret] of [
      ['acme', 'a local secret'],
      ['acme', 'a local secret'],
      ['globex', 'their own secret'],
    ] as const) {
      const { code, out } = await sendTo(['shops', '--tenant', tenant]);
      const made = await tenants.address('shops', tenant);
      expect([code, received.at(-1)?.url]).toEqual([0, `${receiver}${made.outcome === 'made' && made.address}`]);
      expect(out).toContain(`event ${tenant}:`);
      const sent = received.at(-1);
      const verdict = sent && (await verdictOn(sources.shops.provider, sent, [secret], new Date()));
      expect(verdict).toMatchObject({ outcome: 'verified' });
    }
    expect((await sendTo(['shops', '--tenant', 'Bad Name'])).error).toMatch(
      /Bad Name of shops can't be made: bad name/,
    );
    await checkout.write('.dev.vars', lines.filter((line) => !line.startsWith('TENANTS_KEY')).join(''));
    expect((await sendTo(['shops', '--tenant', 'acme'])).error).toMatch(/TENANTS_KEY is not set: npm run dev makes it/);
    const away = 'postgres://user:password@127.0.0.1:1/database';
    await checkout.write('.dev.vars', lines.join('').replace(database.stack.databaseUrl, away));
    expect((await sendTo(['shops', '--tenant', 'acme'])).error).toMatch(/^send: Postgres could not be reached.*\n$/);
  });

  it('signs for a provider that no source names with a random key if none is set', async () => {
    const { code, out } = await sendTo(['linear']);
    expect(code).toBe(0);
    expect(out).toContain('LINEAR_WEBHOOK_SECRET is not set');
    expect(received.at(-1)?.url).toBe(`${receiver}/webhooks/linear`);
    expect(received.at(-1)?.headers.get('linear-signature')).toMatch(/^\w{64}$/);
  });

  it.each([
    [['nobody'], /no source nobody in .* \(sources: orders, shop, shops\)/],
    [['shop', '--tenant', 'acme'], /shop has no tenants in src.sources.ts/],
    [['shops'], /shops has tenants: say which one sends, as in --tenant acme/],
    [
      ['shops', '--tenant', 'acme', '--url', 'https://hooks.example.com'],
      /--tenant is for the receiver on this machine/,
    ],
    [['orders', '--body', '@nowhere.json'], /@nowhere.json: there is no such file/],
    [['orders', '--url', 'http://127.0.0.1:1'], /no receiver answers at http:..127.0.0.1:1: start it with npm run dev/],
    [['orders', '--tiems', '5'], /no option --tiems: its options are --times/],
    [['orders', 'order.paid', 'more'], /unexpected argument more/],
    [['discord', '--url', 'nowhere'], /--url takes an address/],
    [['discord', '--times', 'x'], /--times takes a whole number/],
    [['mailgun', '--body', '{'], /--body must be JSON/],
    [['standardwebhooks'], /STANDARDWEBHOOKS_WEBHOOK_SECRET is not in the form .*: base64 after whsec_/],
  ])('%j is answered with one line that says what to do', async (args, line) => {
    const { code, error } = await send(args, { STANDARDWEBHOOKS_WEBHOOK_SECRET: 'not base64!' });
    expect([code, error]).toEqual([1, expect.stringMatching(/^send: .*\n$/)]);
    expect(error).toMatch(line);
  });
});
