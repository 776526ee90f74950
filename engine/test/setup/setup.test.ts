import { beforeAll, expect, it } from 'vitest';
import { useAccount } from './account.ts';
import { newScript } from './cloudflare.ts';

const account = useAccount();
const setup = (env: Record<string, string> = {}) => account.setup(['--yes'], { env });
let url: string;
beforeAll(async () => {
  url = await account.newDatabase('empty');
});

const BAD: [what: string, run: () => Promise<{ error: string }>, line: string][] = [
  [
    "a DATABASE_URL that is not Neon's",
    () => setup({ DATABASE_URL: 'postgres://me:secret@db.example.com/app' }),
    "DATABASE_URL is on db.example.com, which is not Neon's",
  ],
  [
    'a role without rights',
    async () => {
      await account.sql(url, `create role weak login password 'weak-password'`);
      return setup({ DATABASE_URL: Object.assign(new URL(url), { username: 'weak', password: 'weak-password' }).href });
    },
    'the role weak may not create roles and schemas',
  ],
  [
    'an account without an address for Workers',
    () => {
      account.cloudflare.subdomain = undefined;
      return setup();
    },
    'the account has no workers.dev subdomain yet: open https://dash.cloudflare.com/account-of-the-stand-in/workers/onboarding',
  ],
  [
    'a login with several accounts',
    () => setup({ CLOUDFLARE_ACCOUNT_ID: '' }),
    'set CLOUDFLARE_ACCOUNT_ID to the account that is meant: another (another account), account-of-the-stand-in',
  ],
  [
    'a taken name',
    () => {
      account.cloudflare.scripts.set('checkout-ops', newScript());
      return setup();
    },
    "the account has another Worker named checkout-ops, which doesn't send to the queue one: choose another name",
  ],
  [
    'a queue with another consumer',
    () => {
      const consumers = [{ consumer_id: 'c', type: 'worker', script: 'billing', settings: {} }];
      const settings = { message_retention_period: 86_400 };
      account.cloudflare.queues = [{ queue_id: 'q', queue_name: 'one', settings, consumers }];
      return setup();
    },
    'the queue one is consumed by billing, and a queue has one consumer: npx wrangler queues consumer remove one billing',
  ],
  [
    'a token without a permission',
    () => {
      account.cloudflare.permissions = ['Workers Scripts'];
      return setup();
    },
    'this login or token may not read /queues at Cloudflare: Authentication error (10000). A token needs Workers Scripts: Edit and Queues: Edit',
  ],
  [
    'nobody logged in',
    () => setup({ CLOUDFLARE_API_TOKEN: '' }),
    'nobody is logged in to Cloudflare: npx wrangler login, or make a token with',
  ],
];

it.each(BAD)('%s is answered with one line that says what to do, and nothing is changed', async (_what, run, line) => {
  const { error } = await run();
  expect(error.trim().split('\n')).toEqual([expect.stringContaining(line)]);
  expect(account.cloudflare.calls.filter((call) => !call.startsWith('GET '))).toEqual([]);
});
