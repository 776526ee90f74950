import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { NEON_HOST, useAccount } from './account.ts';
import { newScript } from './cloudflare.ts';

const account = useAccount();
const { setup } = account;
let url: string;
beforeAll(async () => {
  url = await account.newDatabase('empty');
});

it('--dry-run asks nothing and changes nothing, also for an environment that the files lack', async () => {
  const file = join(account.checkout.path, 'wrangler.toml');
  const before = readFileSync(file, 'utf8');
  const { code, outcomes, changes } = await setup(['--dry-run', '--env', 'staging'], { env: { DATABASE_URL: url } });
  expect([code, outcomes, changes]).toEqual([0, ['ok', 'ok', ...Array(7).fill('would')], []]);
  expect(readFileSync(file, 'utf8')).toBe(before);
});

it("the host of Neon's pooler becomes the direct one, in either cloud", async () => {
  const pooled = url.replace(NEON_HOST, 'ep-cool-rain-1-pooler.gwc.azure.neon.tech');
  const { code, text } = await setup(['--dry-run'], { env: { DATABASE_URL: pooled } });
  expect([code, text]).toEqual([
    0,
    expect.stringMatching(/its direct one is used, ep-cool-rain-1\.gwc\.azure\.neon\.tech\n.*, in azure:gwc\n/),
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
      await account.sql(url, `create role weak login password 'weak-password'`);
      const weak = Object.assign(new URL(url), { username: 'weak', password: 'weak-password' });
      return setup(['--dry-run'], { env: { DATABASE_URL: weak.href } });
    },
    "the role weak may not create roles and schemas: use the URL of the database's owner (neondb_owner)",
  ],
  [
    'a taken name',
    () => {
      account.cloudflare.scripts.set('checkout-ops', newScript());
      return setup(['--dry-run']);
    },
    "the account has another Worker named checkout-ops, which doesn't send to the queue one: choose another name in wrangler.ops.toml",
  ],
  [
    'a queue with another consumer',
    () => {
      const consumers = [{ consumer_id: 'c', type: 'worker', script: 'billing', settings: {} }];
      const settings = { message_retention_period: 86_400 };
      account.cloudflare.queues = [{ queue_id: 'q', queue_name: 'one', settings, consumers }];
      return setup(['--dry-run']);
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
