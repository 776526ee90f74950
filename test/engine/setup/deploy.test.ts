import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { WORKERS, type WorkerKind } from '../../../scripts/config/worker-config.ts';
import { useAccount } from './account.ts';

const account = useAccount();
const nameOf = (worker: WorkerKind) => `checkout-${worker}`;

let url: string;
/** The tag of the first deploy, which is that of setup. */
let first: string | undefined;
beforeAll(async () => {
  url = await account.newDatabase('prod');
  // The migrations of the template are those of its tables.
  await account.checkout.write('src/app/tables.ts', readFileSync('src/app/tables.ts', 'utf8'));
  const { code, text } = await account.run(['setup', '--yes'], { DATABASE_URL: url, ORDERS_WEBHOOK_SECRET: 'first' })
    .result;
  expect(code, text).toBe(0);
  first = runningTag('receiver');
}, 120_000);

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
  const ops = scripts.get(nameOf('ops'));
  const receiver = readFileSync(join(checkout.path, 'wrangler.toml'), 'utf8');
  cloudflare.queues = queues.filter(({ queue_name }) => queue_name !== 'two-dead');
  scripts.delete(nameOf('ops'));
  await checkout.write('wrangler.toml', receiver.replace('"DATABASE_URL"', '"DATABASE_URL", "ONE_MORE"'));
  const journal = join(checkout.path, 'drizzle/app/meta/_journal.json');
  const applied = readFileSync(journal, 'utf8');
  const { entries, ...rest } = JSON.parse(applied);
  const next = { ...entries.at(-1), idx: 9, when: entries.at(-1).when + 1, tag: '0009_next' };
  await checkout.write('drizzle/app/meta/_journal.json', JSON.stringify({ ...rest, entries: [...entries, next] }));
  await checkout.write('drizzle/app/0009_next.sql', 'alter table invoices drop column currency;');
  const before = cloudflare.calls.length;
  const { code, text } = await deploy();
  expect(code).toBe(1);
  expect(text.split('\n')).toEqual([
    'looking for what would fail',
    'deploy: nothing was changed, because',
    'the receiver has no ONE_MORE: npx wrangler secret put ONE_MORE -c wrangler.toml',
    'there is no Worker checkout-ops yet: npm run setup creates it',
    'there is no queue two-dead: npm run setup creates it',
    'drizzle/app/0009_next.sql drops the column public.invoices.currency, which the deployed Workers use: deploy code without it first, and do this with the next release',
  ]);
  expect(cloudflare.calls.slice(before).filter((call) => !call.startsWith('GET '))).toEqual([]);
  expect(
    await account.sql(url, `select 1 as there from information_schema.columns where column_name = 'currency'`),
  ).toHaveLength(1);

  await checkout.write('drizzle/app/meta/_journal.json', applied);
  cloudflare.queues = queues;
  await checkout.write('wrangler.toml', receiver);
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

it('a deploy that fails halfway leaves Workers that work together, and a rollback takes the receiver back before the consumer', async () => {
  const { cloudflare } = account;
  cloudflare.fault = (call) =>
    call === 'POST /workers/scripts/checkout-ops/versions'
      ? { status: 400, code: 10021, message: 'Uncaught SyntaxError' }
      : undefined;
  let result = { error: '', text: '' };
  expect(await changesBy(async () => (result = await deploy()))).toEqual(['consumer', 'receiver']);
  cloudflare.fault = undefined;
  expect(result.error.trim().split('\n').at(-1)).toBe(
    'deploy: the Worker checkout-ops was not deployed: wrangler says above why. Already deployed: consumer and receiver. What is new works with what is old: run this again, or with --rollback',
  );
  expect(runningTag('consumer')).toBe(runningTag('receiver'));
  expect([runningTag('receiver') === first, runningTag('ops')]).toEqual([false, first]);

  expect(await changesBy(async () => (result = await deploy(['--rollback'])))).toEqual(['receiver', 'consumer']);
  expect(result.text.split('\n')).toEqual([
    `the receiver is that of ${first} (unknown commit)`,
    `the consumer is that of ${first} (unknown commit)`,
    'The database keeps its tables, with all that newer migrations have added: the older Workers leave that alone. Queues, crons and addresses stay as well.',
  ]);
  expect(WORKERS.map(runningTag)).toEqual([first, first, first]);
  expect((await deploy(['--rollback'])).text).toBe(
    `deploy: Cloudflare has no version of receiver and consumer from a deploy before ${first}: deploy the older code instead`,
  );
});

it('inside Workers Builds, which renames what is deployed, each Worker keeps its name, and a delivery gets through them', async () => {
  const builds = { WRANGLER_CI_OVERRIDE_NAME: nameOf('receiver'), WRANGLER_CI_MATCH_TAG: 'the tag of another Worker' };
  const smoke = { SMOKE_SOURCE: 'orders', SMOKE_SECRET: 'first' };
  let text = '';
  expect(await changesBy(async () => ({ text } = await deploy([], { ...builds, ...smoke })))).toEqual([
    'consumer',
    'receiver',
    'ops',
  ]);
  expect(text).toMatch(/^a delivery of orders: 200 after \d+ ms, ignored by the consumer \d+ ms later$/m);
  expect(new Set(WORKERS.map(runningTag)).size).toBe(1);
  expect(runningTag('receiver')).not.toBe(first);
  expect(account.cloudflare.valuesOf(nameOf('receiver'))).toHaveProperty('ORDERS_WEBHOOK_SECRET');
  expect(account.cloudflare.valuesOf(nameOf('consumer'))).toHaveProperty('EVENTS_DEAD_QUEUE');
});

/** Rotates the secret of orders, and answers what it asks. */
function rotate(args: readonly string[] = [], answers: readonly string[] = []) {
  const running = account.run(['secret', 'rotate', 'orders', ...args]);
  running.child.stdin?.end(answers.map((answer) => `${answer}\n`).join(''));
  return running;
}

/** What the receiver has. */
const secrets = () => {
  const { ORDERS_WEBHOOK_SECRET, ORDERS_WEBHOOK_SECRET_PREVIOUS } = account.cloudflare.valuesOf(nameOf('receiver'));
  return [ORDERS_WEBHOOK_SECRET, ORDERS_WEBHOOK_SECRET_PREVIOUS];
};

it('a rotation that fails or is ended in the middle has changed nothing, and is done by the next run', async () => {
  const { cloudflare } = account;
  const BULK = 'PATCH /workers/scripts/checkout-receiver/secrets-bulk';
  const outputs: string[] = [];
  const mistyped = await rotate([], ['mistyped', 'second']).result;
  expect([mistyped.code, mistyped.text.split('\n').at(-1)]).toEqual([
    1,
    'secret: the receiver refuses what is signed with that secret in use now: nothing was changed',
  ]);
  cloudflare.fault = (call) => (call === BULK ? { status: 500, code: 10013, message: 'Unknown error' } : undefined);
  const failed = await rotate([], ['first', 'second']).result;
  expect(failed.text).toContain('secret: the secrets were not changed: ');
  expect([failed.code, secrets()]).toEqual([1, ['first', undefined]]);
  const ended = rotate([], ['first', 'second']);
  cloudflare.fault = async (call) => {
    if (call !== BULK) return undefined;
    ended.child.kill('SIGINT');
    await ended.result;
    return { status: 0 };
  };
  await ended.result;
  cloudflare.fault = undefined;
  expect(secrets()).toEqual(['first', undefined]);

  const { code, text } = await rotate([], ['first', 'second']).result;
  expect([code, secrets()]).toEqual([0, ['second', 'first']]);
  const again = await rotate().result;
  expect([again.code, secrets()]).toEqual([0, ['second', 'first']]);
  expect(again.text).toMatch(
    /^orders has two secrets already, and accepts both\. .*: npm run secret -- rotate orders --finish$/,
  );
  outputs.push(mistyped.text, failed.text, ended.output(), text, again.text);
  for (const output of outputs) expect(output).not.toMatch(/\bfirst\b|\bsecond\b/);
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('claimcheck-secrets-'))).toEqual([]);
});

it('a rollback that would bring an old secret back is refused, and the end of a rotation takes the old secret away', async () => {
  const { text } = await rotate(['--finish']).result;
  expect([text, secrets()]).toEqual(['done: orders accepts only its current secret', ['second', undefined]]);
  expect((await rotate(['--finish']).result).text).toBe('orders has no previous secret: there is nothing to finish');
  const back = await deploy(['--rollback']);
  expect(back.code).toBe(1);
  expect(back.text).toContain(
    `deploy: secrets of the receiver have changed since the deploy of ${first}, and a rollback`,
  );
});
