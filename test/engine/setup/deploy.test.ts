import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { WORKERS, type WorkerKind } from '../../../scripts/config/worker-config.ts';
import { useAccount } from './account.ts';

const account = useAccount();
const OLD = '2026-01-01T00:00:00Z';
const SECRETS = {
  receiver: ['DATABASE_URL', 'ORDERS_WEBHOOK_SECRET'],
  consumer: ['DATABASE_URL'],
  ops: ['DATABASE_URL'],
};
const nameOf = (worker: WorkerKind) => `checkout-${worker}`;

let url: string;
beforeAll(async () => {
  const { cloudflare, checkout } = account;
  url = await account.newDatabase('prod');
  // The migrations of the template are those of its tables.
  await checkout.write('src/app/tables.ts', readFileSync('src/app/tables.ts', 'utf8'));
  for (const worker of WORKERS) deployedBefore(worker, SECRETS[worker]);
  for (const queue_name of ['one', 'two', 'one-dead', 'two-dead']) {
    const settings = { message_retention_period: 345_600 };
    cloudflare.queues.push({ queue_id: randomUUID(), queue_name, settings, consumers: [] });
  }
}, 60_000);

/** As an earlier `npm run deploy` has left it. */
function deployedBefore(worker: WorkerKind, secrets: readonly string[]): void {
  const bindings = secrets.map((name) => ({ name, type: 'secret_text', text: `the ${name} of ${worker}` }));
  const annotations = { 'workers/tag': OLD, 'workers/message': '1a2b3c4' };
  const metadata = { main_module: 'index.js', compatibility_date: '2026-09-18', bindings, annotations };
  const version = { id: `old-${worker}`, number: 1, created: OLD, source: 'wrangler', metadata, modules: new Map() };
  account.cloudflare.scripts.set(nameOf(worker), {
    versions: [version],
    deployments: [
      {
        id: randomUUID(),
        created_on: OLD,
        source: 'wrangler',
        author_email: 'you@example.com',
        strategy: 'percentage',
        versions: [{ version_id: version.id, percentage: 100 }],
      },
    ],
    tags: [],
    subdomain: { enabled: false, previews_enabled: false },
    schedules: [],
  });
}

const deploy = (args: readonly string[] = [], env = {}) =>
  account.run(['deploy', ...args], { DATABASE_URL: url, ...env }).result;

/** The tag of the version that runs. */
const runningTag = (worker: WorkerKind) =>
  account.cloudflare.deployed(nameOf(worker))?.metadata.annotations?.['workers/tag'];

/** Which Workers were uploaded or deployed by what `work` does, in order. */
async function changesBy(work: () => Promise<unknown>): Promise<string[]> {
  const { calls } = account.cloudflare;
  const before = calls.length;
  await work();
  return calls
    .slice(before)
    .flatMap((call) => /^POST \/workers\/scripts\/checkout-(\w+)\/deployments/.exec(call)?.[1] ?? []);
}

it('what would fail halfway is refused before anything is changed, in a line each', async () => {
  const { cloudflare, checkout } = account;
  const { queues, scripts } = cloudflare;
  const [ops] = [scripts.get(nameOf('ops'))];
  cloudflare.queues = queues.filter(({ queue_name }) => queue_name !== 'two-dead');
  scripts.delete(nameOf('ops'));
  deployedBefore('receiver', ['DATABASE_URL']);
  await checkout.run(['migrate'], { ...cloudflare.env, DATABASE_URL: url }).result;
  const journal = join(checkout.path, 'drizzle/app/meta/_journal.json');
  const applied = readFileSync(journal, 'utf8');
  const { entries, ...rest } = JSON.parse(applied);
  const next = { ...entries.at(-1), idx: 9, when: entries.at(-1).when + 1, tag: '0009_next' };
  await checkout.write('drizzle/app/meta/_journal.json', JSON.stringify({ ...rest, entries: [...entries, next] }));
  await checkout.write('drizzle/app/0009_next.sql', 'alter table invoices drop column currency;');
  const { code, text } = await deploy();
  expect(code).toBe(1);
  expect(text.split('\n')).toEqual([
    'looking for what would fail',
    'deploy: nothing was changed, because',
    'the receiver has no ORDERS_WEBHOOK_SECRET: npx wrangler secret put ORDERS_WEBHOOK_SECRET -c wrangler.toml',
    'there is no Worker checkout-ops yet: npm run setup creates it',
    'there is no queue two-dead: npm run setup creates it',
    'drizzle/app/0009_next.sql drops the column public.invoices.currency, which the deployed Workers use: deploy code without it first, and do this with the next release',
  ]);
  expect(cloudflare.calls.filter((call) => !call.startsWith('GET '))).toEqual([]);
  expect(
    await account.sql(url, `select 1 as there from information_schema.columns where column_name = 'currency'`),
  ).toHaveLength(1);

  await checkout.write('drizzle/app/meta/_journal.json', applied);
  cloudflare.queues = queues;
  deployedBefore('receiver', SECRETS.receiver);
  if (ops) scripts.set(nameOf('ops'), ops);
});

it('a token that may not read queues is refused in one line', async () => {
  const { permissions } = account.cloudflare;
  account.cloudflare.permissions = ['Workers Scripts'];
  const { code, error } = await deploy();
  account.cloudflare.permissions = permissions;
  expect([code, error.trim()]).toEqual([
    1,
    'deploy: this login or token may not read /queues?name=one at Cloudflare: Authentication error (10000). A token needs Workers Scripts: Edit and Queues: Edit (https://dash.cloudflare.com/profile/api-tokens)',
  ]);
});

it('the consumer is deployed first; if the receiver fails, both are as they can work together, and a rollback takes the consumer back', async () => {
  const { cloudflare } = account;
  cloudflare.fault = (call) =>
    call === 'POST /workers/scripts/checkout-receiver/versions'
      ? { status: 400, code: 10021, message: 'Uncaught SyntaxError' }
      : undefined;
  const { code, error } = await deploy();
  cloudflare.fault = undefined;
  expect(code).toBe(1);
  expect(error.trim().split('\n').at(-1)).toBe(
    'deploy: the receiver was not deployed: wrangler says above why. New are: consumer, which work with the others as they were. Run this again, or npm run deploy -- --rollback',
  );
  expect(runningTag('consumer')).toMatch(/^2026-1/);
  expect([runningTag('receiver'), runningTag('ops')]).toEqual([OLD, OLD]);

  const back = await deploy(['--rollback']);
  expect(back.text.split('\n')).toEqual([
    `the consumer is that of ${OLD} (1a2b3c4)`,
    'The database keeps its tables, with all that newer migrations have added: the older Workers leave that alone. Queues, crons and addresses stay as well.',
  ]);
  expect(runningTag('consumer')).toBe(OLD);
});

it('inside Workers Builds, which renames what is deployed, each Worker keeps its name; a rollback takes the receiver back first', async () => {
  const builds = { WRANGLER_CI_OVERRIDE_NAME: nameOf('receiver'), WRANGLER_CI_MATCH_TAG: 'the tag of another Worker' };
  expect(await changesBy(() => deploy([], builds))).toEqual(['consumer', 'receiver', 'ops']);
  const tags = WORKERS.map(runningTag);
  expect(new Set(tags).size).toBe(1);
  expect(tags[0]).toMatch(/^2026-1/);
  const mains = WORKERS.map((worker) =>
    account.cloudflare
      .deployed(nameOf(worker))
      ?.metadata.bindings.map(({ name }) => name)
      .sort(),
  );
  expect(mains[0]).toContain('ORDERS_WEBHOOK_SECRET');
  expect(mains[1]).toContain('EVENTS_DEAD_QUEUE');

  expect(await changesBy(() => deploy(['--rollback']))).toEqual(['receiver', 'consumer', 'ops']);
  expect(WORKERS.map(runningTag)).toEqual([OLD, OLD, OLD]);
  const { code, text } = await deploy(['--rollback']);
  expect([code, text]).toEqual([
    1,
    `deploy: Cloudflare has no version of receiver and consumer from a deploy before ${OLD}: deploy the older code instead`,
  ]);
});
