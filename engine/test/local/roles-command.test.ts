import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../cli/database/connect.ts';
import { migrate } from '../../cli/database/migrations.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

const roles = (databaseUrl: string, ...args: string[]) =>
  checkout.call(['roles', ...args], { DATABASE_URL: databaseUrl });
const urlsIn = (text: string) => text.match(/postgres:\S+/g) ?? [];

async function userOf(url: string): Promise<unknown> {
  const client = await connect(url);
  const { rows } = await client.query(
    'select current_user as name, count(event_id)::int as events from webhooks.events',
  );
  await client.end();
  return rows[0];
}

async function migrated(name: string): Promise<string> {
  await database.sql(`create database ${name}`);
  const url = new URL(`/${name}`, database.stack.databaseUrl).href;
  await migrate(url);
  return url;
}

it('npm run db:roles prints the URL of each new role, and nothing secret when the roles are there', async () => {
  const url = await migrated('fresh');
  const first = await roles(url);
  expect(first.code).toBe(0);
  expect(first.text).toContain(
    'npx wrangler secret put DATABASE_URL -c wrangler.consumer.toml\npostgres://fresh_consumer:',
  );
  expect(await Promise.all(urlsIn(first.text).map(userOf))).toEqual([
    { name: 'fresh_receiver', events: 0 },
    { name: 'fresh_consumer', events: 0 },
    { name: 'fresh_ops', events: 0 },
  ]);
  const { code, text } = await roles(url);
  expect([code, text.split('\n')]).toEqual([
    0,
    [
      `the database fresh on ${new URL(url).host} (DATABASE_URL is from the environment)`,
      'the roles now have the rights that this version needs',
    ],
  ]);

  const rotated = await roles(url, '--rotate', 'receiver', '--env', 'staging');
  expect(rotated.text).toContain('npx wrangler secret put DATABASE_URL -c wrangler.toml --env staging\n');
  expect(urlsIn(rotated.text)).toHaveLength(1);
  await expect(userOf(urlsIn(first.text)[0] ?? '')).rejects.toThrow('password');
  expect(await userOf(urlsIn(rotated.text)[0] ?? '')).toMatchObject({ name: 'fresh_receiver' });
});

it('npm run db:roles -- --sql changes nothing, and what it prints can be run as it is', async () => {
  const url = await migrated('by_hand');
  const { text } = await roles(url, '--sql');
  expect(await database.sql(`select from pg_roles where rolname like 'by\\_hand\\_%'`)).toEqual([]);
  const client = await connect(url);
  await client.query(text);
  await client.end();
  expect(await Promise.all(urlsIn(text).map(userOf))).toMatchObject([
    { name: 'by_hand_receiver' },
    { name: 'by_hand_consumer' },
    { name: 'by_hand_ops' },
  ]);
});

it('npm run db:roles --rotate refuses what is not a Worker with one line', async () => {
  expect(await roles(database.stack.databaseUrl, '--rotate', 'owner')).toMatchObject({
    code: 1,
    text: 'roles: --rotate takes the Worker whose role gets a new password: receiver, consumer or ops',
  });
});
