import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { NEON_HOST, SECRET, useAccount } from './account.ts';

const account = useAccount();
const { setup } = account;
const urls: Record<string, string> = {};
beforeAll(async () => {
  for (const name of ['production', 'staging']) urls[name] = await account.newDatabase(name);
});
const env = (name: string) => ({ DATABASE_URL: urls[name] ?? '' });
const fileOf = (name: string) => readFileSync(join(account.checkout.path, name), 'utf8');

it('goes from nothing to a delivery that the deployed Workers have worked, and asks three questions', async () => {
  const { code, text, outcomes } = await setup([], { answers: [urls.production ?? '', SECRET, 'y'] });
  expect([code, outcomes]).toEqual([0, ['ok', 'ok', ...Array(8).fill('done')]]);
  expect(text).toMatch(
    /^done {2}delivery {3}signed as orders: 200 after \d+ ms, ignored by the consumer \d+ ms later$/m,
  );
  expect(text).toContain('questions asked: 3');
  expect(text.match(/^ {2}\d /gm)?.length).toBeLessThanOrEqual(5);
  expect(text).not.toContain(SECRET);
  expect(account.cloudflare.valuesOf('checkout-receiver').ORDERS_WEBHOOK_SECRET).toBe(SECRET);
  expect(account.cloudflare.queues.map(({ settings }) => settings.message_retention_period)).toEqual(
    Array(4).fill(1_209_600),
  );
  expect(fileOf('wrangler.toml')).toMatch(/\[placement\]\nregion = "aws:eu-central-1"/);
});

it('a second run finds everything and changes nothing', async () => {
  const { code, outcomes, changes } = await setup(['--yes'], { env: env('production') });
  expect([code, outcomes, changes]).toEqual([0, Array(10).fill('ok'), []]);
});

it('--dry-run asks nothing and changes nothing, also for an environment that the files lack', async () => {
  const before = fileOf('wrangler.toml');
  const { code, outcomes, changes } = await setup(['--dry-run', '--env', 'staging'], {
    env: env('staging'),
  });
  expect([code, outcomes, changes]).toEqual([0, ['ok', 'ok', ...Array(7).fill('would')], []]);
  expect(fileOf('wrangler.toml')).toBe(before);
});

it('somebody who runs it at the same time on the same database is told so', async () => {
  const { sql } = account;
  await sql(urls.production ?? '', `comment on schema webhooks is null`);
  account.cloudflare.queues = account.cloudflare.queues.filter(({ queue_name }) => queue_name !== 'two-dead');
  let other: Promise<{ error: string }> | undefined;
  const { code } = await setup(['--yes'], {
    env: env('production'),
    onChange: async () => {
      other ??= account.run(['setup', '--yes'], env('production')).result;
      await other;
      return undefined;
    },
  });
  expect([code, (await other)?.error.trim()]).toEqual([
    0,
    'setup: somebody else runs setup on this database right now: run this again afterwards',
  ]);
});

const BAD: [what: string, run: () => Promise<{ error: string }>, line: string][] = [
  [
    "a DATABASE_URL that is not Neon's",
    () => setup(['--dry-run'], { env: { DATABASE_URL: 'postgres://me:secret@db.example.com/app' } }),
    "DATABASE_URL is on db.example.com, which is not Neon's: the Workers reach Postgres over Neon's HTTP interface. Make a project at https://console.neon.tech",
  ],
  [
    'a role without rights',
    async () => {
      await account.sql(urls.staging ?? '', `create role weak login password 'weak-password'`);
      const url = new URL(urls.staging ?? '');
      Object.assign(url, { username: 'weak', password: 'weak-password' });
      return setup(['--dry-run', '--env', 'staging'], { env: { DATABASE_URL: url.href } });
    },
    "the role weak may not create roles and schemas: use the URL of the database's owner (neondb_owner)",
  ],
  [
    'the database of another environment',
    () => setup(['--dry-run', '--env', 'staging'], { env: env('production') }),
    'this database is that of checkout-receiver: two environments never share one. Name the right one with --env, or give checkout-receiver-staging a database or a Neon branch of its own',
  ],
  [
    'npm run deploy or db:migrate on the database of another environment',
    async () => {
      await account.sql(urls.staging ?? '', `create schema webhooks`);
      await account.sql(urls.staging ?? '', `comment on schema webhooks is 'other-receiver at ${NEON_HOST}: ops'`);
      return account.run(['migrate'], env('staging')).result;
    },
    'this database is that of other-receiver: two environments never share one. Name the right one with --env, or give checkout-receiver a database or a Neon branch of its own',
  ],
  [
    'a taken name',
    async () => {
      const { scripts } = account.cloudflare;
      const ours = scripts.get('checkout-ops');
      if (ours) scripts.set('checkout-ops', { ...ours, deployments: [] });
      const result = await setup(['--dry-run']);
      if (ours) scripts.set('checkout-ops', ours);
      return result;
    },
    "the account has another Worker named checkout-ops, which doesn't send to the queue one: choose another name in wrangler.ops.toml",
  ],
  [
    'a queue with another consumer',
    async () => {
      const [consumer] = account.cloudflare.queues.find(({ queue_name }) => queue_name === 'one')?.consumers ?? [];
      if (consumer) consumer.script = 'billing';
      const result = await setup(['--dry-run']);
      if (consumer) consumer.script = 'checkout-consumer';
      return result;
    },
    'the queue one is consumed by billing, and a queue has one consumer: npx wrangler queues consumer remove one billing, or name another queue in the wrangler files',
  ],
  [
    'a token without a permission',
    async () => {
      account.cloudflare.permissions = ['Workers Scripts'];
      const result = await setup(['--dry-run']);
      account.cloudflare.permissions = ['Workers Scripts', 'Queues'];
      return result;
    },
    'this login or token may not read /queues at Cloudflare: Authentication error (10000). A token needs Workers Scripts: Edit and Queues: Edit (https://dash.cloudflare.com/profile/api-tokens)',
  ],
  [
    'no network',
    () => setup(['--dry-run'], { env: { CLOUDFLARE_API_BASE_URL: 'http://127.0.0.1:1/client/v4' } }),
    "Cloudflare's API could not be reached: check the network, and run this again",
  ],
  [
    'nobody logged in',
    () => setup(['--dry-run'], { env: { CLOUDFLARE_API_TOKEN: '' } }),
    'nobody is logged in to Cloudflare: npx wrangler login, or make a token with Workers Scripts: Edit and Queues: Edit (https://dash.cloudflare.com/profile/api-tokens) and set CLOUDFLARE_API_TOKEN',
  ],
];

it.each(BAD)('%s is answered with one line that says what to do', async (_what, run, line) => {
  const { error } = await run();
  expect(error.trim().split('\n')).toEqual([expect.stringContaining(line)]);
});

it("the host of Neon's pooler becomes the direct one", async () => {
  const url = (urls.production ?? '').replace(/(ep-[^.]+)\./, '$1-pooler.');
  const { code, text } = await setup(['--dry-run'], { env: { DATABASE_URL: url } });
  expect([code, text]).toEqual([0, expect.stringContaining(`its direct one is used, ${NEON_HOST}`)]);
});
