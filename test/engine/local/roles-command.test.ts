import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, migrate } from '../../../scripts/local/migrations.ts';
import { useDatabase } from '../database.ts';
import { type Checkout, makeCheckout } from './checkout.ts';

const database = useDatabase();
let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

const roles = (databaseUrl: string, ...args: string[]) =>
  checkout.run(['roles', ...args], { DATABASE_URL: databaseUrl }).result;
const urlsIn = (text: string) => text.match(/postgres:\S+/g) ?? [];

async function userOf(url: string): Promise<unknown> {
  const client = await connect(url);
  const { rows } = await client.query('select current_user, count(event_id)::int as events from webhook_events');
  await client.end();
  return rows[0];
}

it('npm run db:roles prints the URL of each new role, and nothing secret when the roles are there', async () => {
  await database.sql('create database fresh');
  const url = new URL('/fresh', database.stack.databaseUrl).href;
  await migrate(url);
  const first = await roles(url);
  expect(first.code).toBe(0);
  expect(first.text).toContain(
    'npx wrangler secret put DATABASE_URL -c wrangler.consumer.toml\npostgres://fresh_consumer:',
  );
  expect(await Promise.all(urlsIn(first.text).map(userOf))).toEqual([
    { current_user: 'fresh_receiver', events: 0 },
    { current_user: 'fresh_consumer', events: 0 },
  ]);
  expect(await roles(url)).toEqual({ code: 0, text: 'both roles have the rights that this version needs' });

  const rotated = await roles(url, '--rotate', 'receiver');
  expect(urlsIn(rotated.text)).toHaveLength(1);
  await expect(userOf(urlsIn(first.text)[0] ?? '')).rejects.toThrow('password');
  expect(await userOf(urlsIn(rotated.text)[0] ?? '')).toMatchObject({ current_user: 'fresh_receiver' });
});

it('npm run db:roles -- --sql changes nothing, and what it prints can be run as it is', async () => {
  await database.sql('create database by_hand');
  const url = new URL('/by_hand', database.stack.databaseUrl).href;
  await migrate(url);
  const { text } = await roles(url, '--sql');
  expect(await database.sql(`select from pg_roles where rolname like 'by\\_hand\\_%'`)).toEqual([]);
  const client = await connect(url);
  await client.query(text);
  await client.end();
  expect(await Promise.all(urlsIn(text).map(userOf))).toMatchObject([
    { current_user: 'by_hand_receiver' },
    { current_user: 'by_hand_consumer' },
  ]);
});

it('npm run db:roles --rotate refuses what is not a Worker with one line', async () => {
  expect(await roles(database.stack.databaseUrl, '--rotate', 'owner')).toEqual({
    code: 1,
    text: 'roles: --rotate takes the Worker whose role gets a new password: receiver or consumer',
  });
});
