import { expect, it } from 'vitest';
import { chooseJurisdiction } from '../../cli/setup/jurisdiction.ts';
import { Terminal } from '../../cli/setup/terminal.ts';
import { type SetupOptions, useAccount } from './account.ts';
import { newScript } from './cloudflare.ts';

const account = useAccount();
const setup = (env: Record<string, string> = {}, fault?: SetupOptions['fault']) =>
  account.setup(['--yes'], { env, ...(fault ? { fault } : {}) });
const refusing = (path: string, status: number, code: number) =>
  setup({}, (call) => (call === `GET ${path}` ? { status, code, message: 'No' } : undefined));

const BAD: [what: string, run: () => Promise<{ error: string }>, line: string][] = [
  [
    "a DATABASE_URL that is not Neon's",
    () => setup({ DATABASE_URL: 'postgres://me:secret@db.example.com/app' }),
    "on db.example.com, which is not Neon's",
  ],
  [
    'a role without rights',
    async () => {
      const url = new URL(await account.newDatabase('empty'));
      await account.sql(url.href, `create role weak login password 'weak-password'`);
      return setup({ DATABASE_URL: Object.assign(url, { username: 'weak', password: 'weak-password' }).href });
    },
    'the role weak may not create',
  ],
  ['an account without an address', () => refusing('/workers/subdomain', 404, 10007), '/workers/onboarding'],
  [
    'a login with several accounts',
    () => setup({ CLOUDFLARE_ACCOUNT_ID: '' }),
    'another (another account), account-of-the-stand-in',
  ],
  ['a token without a permission', () => refusing('/queues', 403, 10000), 'A token needs Workers Scripts: Edit and'],
  ['nobody logged in', () => setup({ CLOUDFLARE_API_TOKEN: '' }), 'npx wrangler login, or make a token'],
  [
    'a taken name',
    () => {
      account.cloudflare.scripts.set('checkout-ops', newScript());
      return setup();
    },
    'another Worker named checkout-ops',
  ],
  [
    'a queue with another consumer',
    () => {
      const consumers = [{ consumer_id: 'c', type: 'worker', script: 'billing', settings: {} }];
      const settings = { message_retention_period: 86_400 };
      account.cloudflare.queues = [{ queue_id: 'q', queue_name: 'one', settings, consumers }];
      return setup();
    },
    'npx wrangler queues consumer remove one billing',
  ],
];

it.each(BAD)('%s is answered with one line that says what to do, and nothing is changed', async (_what, run, line) => {
  const { error } = await run();
  expect(error.trim().split('\n')).toEqual([expect.stringContaining(line)]);
  expect(account.cloudflare.calls.filter((call) => !call.startsWith('GET '))).toEqual([]);
});

it.each([
  ['aws:eu-central-1', undefined, 'eu'],
  ['aws:eu-west-2', undefined, undefined],
  ['aws:us-east-2', undefined, 'us'],
  ['azure:eastus2', undefined, 'us'],
  ['azure:gwc', undefined, 'eu'],
  ['aws:ap-southeast-1', undefined, undefined],
  ['aws:us-east-2', {}, undefined],
  ['aws:us-east-2', { jurisdiction: 'fedramp' }, 'fedramp'],
])('the queues of a database in %s, beside the queue %j, are kept in %s by default', async (region, queue, wanted) => {
  const queues = queue ? [{ queue_id: 'q', queue_name: 'one', ...queue }] : [];
  const terminal = new Terminal({ asks: false });
  expect(await chooseJurisdiction(terminal, { queues, workers: {} }, region)).toBe(wanted);
});
