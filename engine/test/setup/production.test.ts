import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { WORKERS, type WorkerKind } from '../../cli/config/worker-config.ts';
import { WAIT } from '../running.ts';
import { signers } from '../signatures.ts';
import { SECRET, useAccount } from './account.ts';

// One environment: from nothing to production, and what comes after.

const account = useAccount();
const nameOf = (worker: WorkerKind) => `checkout-${worker}`;

let url: string;
/** The tag of the first deploy, which is that of setup, and that of the first one by deploy that is whole. */
let first: string | undefined;
let second: string | undefined;
beforeAll(async () => {
  url = await account.newDatabase('prod');
  // Of another project: it says nothing about the plan.
  const settings = { message_retention_period: 86_400 };
  account.cloudflare.queues = [{ queue_id: 'other', queue_name: 'of-another', settings, consumers: [] }];
  // The migrations of the template are those of its tables.
  await account.checkout.write('src/tables.ts', readFileSync('src/tables.ts', 'utf8'));
  await account.checkout.write('src/handlers/order-paid.ts', ORDER_PAID);
  await account.checkout.write('src/handlers/index.ts', HANDLERS);
});

const ORDER_PAID = `import { defineHandler, PermanentError } from 'claimcheck';

export const orderPaid = defineHandler({
  handle() {
    throw new PermanentError('not enough stock');
  },
});
`;
const HANDLERS = `import { defineHandlers } from 'claimcheck';
import { sources } from '../sources.ts';
import { orderPaid } from './order-paid.ts';
export const handlers = defineHandlers(sources, { orders: { 'order.paid': orderPaid } });
`;

const setup = (args: readonly string[]) => account.setup(args, { env: { DATABASE_URL: url } });
const deploy = (args: readonly string[] = [], env = {}) =>
  account.run(['deploy', ...args], { DATABASE_URL: url, ...env }).result;

/** The tag of the version that runs. */
const runningTag = (worker: WorkerKind) =>
  account.cloudflare.deployed(nameOf(worker))?.metadata.annotations?.['workers/tag'];

it('goes from nothing to a delivery that the deployed Workers have worked, and asks four questions', async () => {
  let other: Promise<{ error: string }> | undefined;
  const { code, text, outcomes } = await account.setup([], {
    env: { CLOUDFLARE_ACCOUNT_ID: '' },
    answers: ['2', url, SECRET, 'y'],
    onChange: async () => {
      if (other) return undefined;
      other = deploy();
      await other;
      return undefined;
    },
  });
  expect([code, outcomes], text).toEqual([0, ['ok', 'ok', ...Array(8).fill('done')]]);
  expect(text).toMatch(
    /^done {2}delivery {3}signed as orders: 200 after \d+ ms, ignored by the consumer \d+ ms later$/m,
  );
  expect(text.match(/^ {2}\d /gm)?.length).toBeLessThanOrEqual(5);
  expect(text).not.toContain(SECRET);
  expect(text).toMatch(/register these addresses [\s\S]*\/webhooks\/orders/);
  const { cloudflare, checkout } = account;
  expect(text).toContain(`made up, and only shown now: OPS_TOKEN=${cloudflare.valuesOf(nameOf('ops')).OPS_TOKEN}\n`);
  expect(cloudflare.valuesOf(nameOf('receiver')).ORDERS_WEBHOOK_SECRET).toBe(SECRET);
  const kept = cloudflare.queues.map(({ settings }) => settings.message_retention_period);
  expect(kept).toEqual([86_400, ...Array(4).fill(1_209_600)]);
  const file = readFileSync(join(checkout.path, 'wrangler.toml'), 'utf8');
  expect(file).toMatch(/\[placement\]\nregion = "aws:eu-central-1"/);
  first = runningTag('receiver');
  // Somebody else, at the same time.
  expect((await other)?.error).toMatch(
    /^deploy: gave up after 1s, because the lock of setup and deploy is held by another session: /,
  );
});

it('the console says in which line of which file an event failed in the deployed consumer', async () => {
  const { cloudflare } = account;
  const visit = (worker: WorkerKind, path: string, init: { headers: object; body?: string; method?: string }) =>
    fetch(`${cloudflare.env.EDGE_URL}${path}`, {
      ...init,
      headers: { ...init.headers, 'x-edge-host': `${nameOf(worker)}.stand-in.workers.dev` },
    });
  const delivery = await signers.gethook(JSON.stringify({ id: 'evt_1', type: 'order.paid' }), { secret: SECRET });
  expect((await visit('receiver', '/webhooks/orders', { method: 'POST', ...delivery })).status).toBe(200);
  const { OPS_TOKEN } = cloudflare.valuesOf(nameOf('ops'));
  await vi.waitFor(async () => {
    const headers = { authorization: `Bearer ${OPS_TOKEN}` };
    expect(await (await visit('ops', '/ops/api/events/orders/evt_1', { headers })).json()).toMatchObject({
      status: 'parked',
      last_error: 'PermanentError: not enough stock',
      position: expect.stringMatching(/^Object\.handle \(src\/handlers\/order-paid\.ts:5\) < /),
    });
  }, WAIT);
});

it('a second run finds everything and changes nothing, and forgets nothing that is left to do', async () => {
  const { code, text, outcomes, changes } = await setup(['--yes']);
  expect([code, outcomes, changes]).toEqual([0, Array(10).fill('ok'), []]);
  expect(text).toContain('protect the console');
  expect(text).toContain('be told when work fails');
  // The test before has sent something: nobody has to register that address.
  expect(text).not.toContain('register these addresses');
});

it('stops if somebody else was faster while it asked, and has shown no secret that it made up', async () => {
  const { scripts } = account.cloudflare;
  const ops = scripts.get(nameOf('ops'));
  scripts.delete(nameOf('ops'));
  const { child, output, result } = account.run(['setup'], { DATABASE_URL: url });
  await vi.waitFor(() => expect(output()).toContain('deploy checkout-ops in'), WAIT);
  await account.sql(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where (datname, usename) = (current_database(), current_user) and pid <> pg_backend_pid()`,
  );
  if (ops) scripts.set(nameOf('ops'), ops);
  child.stdin?.end('y\n');
  const { error, text } = await result;
  expect(error).toBe('setup: somebody else has changed the Workers meanwhile: run this again\n');
  expect(text).not.toContain('made up');
});

it('another environment does not get this database', async () => {
  expect((await setup(['--dry-run', '--env', 'staging'])).error).toContain(
    'this database is that of checkout-receiver: two environments never share one',
  );
});

it.each<[string, string[], () => void]>([
  [
    'an address, a cron, and a Worker',
    ['consumer', 'receiver', 'ops'],
    () => {
      const { scripts } = account.cloudflare;
      Object.assign(scripts.get(nameOf('receiver')) ?? {}, { subdomain: { enabled: false, previews_enabled: false } });
      Object.assign(scripts.get(nameOf('consumer')) ?? {}, { schedules: [] });
      scripts.delete(nameOf('ops'));
    },
  ],
  [
    'a secret, a queue, and the consumer of another',
    ['queues', 'consumer', 'receiver'],
    () => {
      const { queues, deployed } = account.cloudflare;
      const bindings = deployed.call(account.cloudflare, nameOf('receiver'))?.metadata.bindings ?? [];
      bindings.splice(
        bindings.findIndex(({ name }) => name === 'ORDERS_WEBHOOK_SECRET'),
        1,
      );
      account.cloudflare.queues = queues.filter(({ queue_name }) => queue_name !== 'two-dead');
      for (const queue of queues) if (queue.queue_name === 'one') queue.consumers = [];
    },
  ],
])('%s that are gone are missed', async (_what, missed, remove) => {
  const { cloudflare } = account;
  const [scripts, queues] = [structuredClone([...cloudflare.scripts]), structuredClone(cloudflare.queues)];
  remove();
  const { text } = await setup(['--dry-run']);
  cloudflare.scripts.clear();
  for (const [name, script] of scripts) cloudflare.scripts.set(name, script);
  cloudflare.queues = queues;
  expect(Array.from(text.matchAll(/^would +(\w+)/gm), ([, name]) => name)).toEqual(missed);
});

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
  const journal = join(checkout.path, 'drizzle/meta/_journal.json');
  const applied = readFileSync(journal, 'utf8');
  const { entries, ...rest } = JSON.parse(applied);
  const next = { ...entries.at(-1), idx: 9, when: entries.at(-1).when + 1, tag: '0009_next' };
  await checkout.write('drizzle/meta/_journal.json', JSON.stringify({ ...rest, entries: [...entries, next] }));
  await checkout.write('drizzle/0009_next.sql', 'alter table invoices drop column currency;');
  const before = cloudflare.calls.length;
  const { code, text } = await deploy([], { SMOKE_SOURCE: 'nobody', SMOKE_SECRET: SECRET });
  expect(code).toBe(1);
  expect(text.split('\n')).toEqual([
    'looking for what would fail',
    'deploy: nothing was changed, because',
    'the receiver has no ONE_MORE: npx wrangler secret put ONE_MORE -c wrangler.toml',
    'there is no Worker checkout-ops yet: npm run setup creates it',
    'there is no queue two-dead: npm run setup creates it',
    'drizzle/0009_next.sql drops the column public.invoices.currency, which the deployed Workers use: deploy code without it first, and do this with the next release',
    'there is no delivery of nobody that SMOKE_SECRET could sign',
  ]);
  expect(cloudflare.calls.slice(before).filter((call) => !call.startsWith('GET '))).toEqual([]);
  expect(
    await account.sql(url, `select 1 as there from information_schema.columns where column_name = 'currency'`),
  ).toHaveLength(1);

  await checkout.write('drizzle/meta/_journal.json', applied);
  cloudflare.queues = queues;
  await checkout.write('wrangler.toml', receiver);
  if (ops) scripts.set(nameOf('ops'), ops);
});

it('a deploy that fails halfway leaves Workers that work together, and a rollback takes the receiver back before the consumer', async () => {
  const { cloudflare } = account;
  let other: { error: string } | undefined;
  cloudflare.fault = async (call) => {
    if (call !== 'POST /workers/scripts/checkout-ops/versions') return undefined;
    other ??= await deploy();
    return { status: 400, code: 10021, message: 'Uncaught SyntaxError' };
  };
  let result = { error: '', text: '' };
  await account.sql(url, 'alter role prod_ops rename to away');
  expect(await changesBy(async () => (result = await deploy()))).toEqual(['consumer', 'receiver']);
  await account.sql(url, 'alter role away rename to prod_ops');
  cloudflare.fault = undefined;
  expect(result.text).toContain('\nhint: the ops has no role of its own: npm run db:roles creates it\n');
  expect(other?.error).toContain('the lock of setup and deploy is held by another session');
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
  // Half of the requests get another version.
  const [last] = cloudflare.scripts.get(nameOf('ops'))?.deployments ?? [];
  const versions = [...(last?.versions ?? [])];
  Object.assign(last ?? {}, { versions: [...versions, ...versions] });
  expect((await deploy(['--rollback'])).text).toMatch(
    /^deploy: wrangler\.ops\.toml has several versions deployed at once: /,
  );
  Object.assign(last ?? {}, { versions });
});

it('inside Workers Builds, which renames what is deployed, each Worker keeps its name, and a delivery gets through them', async () => {
  const builds = { WRANGLER_CI_OVERRIDE_NAME: nameOf('receiver'), WRANGLER_CI_MATCH_TAG: 'the tag of another Worker' };
  const smoke = { SMOKE_SOURCE: 'orders', SMOKE_SECRET: SECRET };
  let text = '';
  expect(await changesBy(async () => ({ text } = await deploy([], { ...builds, ...smoke })))).toEqual([
    'consumer',
    'receiver',
    'ops',
  ]);
  expect(text).toMatch(/^a delivery of orders: 200 after \d+ ms, ignored by the consumer \d+ ms later$/m);
  expect(new Set(WORKERS.map(runningTag)).size).toBe(1);
  second = runningTag('receiver');
  expect(second).not.toBe(first);
  expect(account.cloudflare.valuesOf(nameOf('receiver'))).toHaveProperty('ORDERS_WEBHOOK_SECRET');
  expect(account.cloudflare.valuesOf(nameOf('consumer'))).toHaveProperty('EVENTS_DEAD_QUEUE');
});

/** Rotates the secret of orders, and answers what it asks. */
function rotate(args: readonly string[] = [], answers: readonly string[] = []) {
  const running = account.run(['secret', 'rotate', 'orders', ...args]);
  running.child.stdin?.end(answers.map((answer) => `${answer}\n`).join(''));
  return running.result;
}

/** What the receiver has. */
const secrets = () => {
  const { ORDERS_WEBHOOK_SECRET, ORDERS_WEBHOOK_SECRET_PREVIOUS } = account.cloudflare.valuesOf(nameOf('receiver'));
  return [ORDERS_WEBHOOK_SECRET, ORDERS_WEBHOOK_SECRET_PREVIOUS];
};

it('a rotation that fails has changed nothing, and is done by the next run', async () => {
  const { cloudflare } = account;
  const BULK = 'PATCH /workers/scripts/checkout-receiver/secrets-bulk';
  const mistyped = await rotate([], ['mistyped', 'second']);
  expect([mistyped.code, mistyped.text.split('\n').at(-1)]).toEqual([
    1,
    'secret: the receiver refuses what is signed with that secret in use now: nothing was changed',
  ]);
  // Somebody has deleted the Worker in this moment.
  cloudflare.fault = (call) => (call === BULK ? { status: 404, code: 10007, message: 'Not there' } : undefined);
  const failed = await rotate([], [SECRET, '']);
  cloudflare.fault = undefined;
  expect(failed.error.trim()).toBe(
    'secret: Cloudflare did not take /workers/scripts/checkout-receiver/secrets-bulk: Not there (10007). Run this again',
  );
  expect(failed.text).toMatch(/^made up, and shown only now: \w+$/m);
  expect([failed.code, secrets()]).toEqual([1, [SECRET, undefined]]);

  const slow = account.run(['secret', 'rotate', 'orders']);
  await vi.waitFor(() => expect(slow.output()).toContain('signs with now'), WAIT);
  const { code, text } = await rotate([], [SECRET, 'second']);
  slow.child.stdin?.end(`${SECRET}\nthird\n`);
  expect((await slow.result).error).toBe('secret: orders has got two secrets meanwhile: nothing was changed\n');
  expect([code, secrets()]).toEqual([0, ['second', SECRET]]);
  expect(text).toContain('\n1  enter the new secret at the sender\n');
  const again = await rotate();
  expect([again.code, secrets()]).toEqual([0, ['second', SECRET]]);
  expect(again.text).toMatch(
    /^orders has two secrets already, and accepts both\. .*: npm run secret -- rotate orders --finish$/,
  );
  for (const output of [mistyped.text, failed.text, text, again.text]) {
    expect(output).not.toMatch(/the-secret-of-the-sender|\bsecond\b/);
  }
});

const PARK_WHAT_IS_IGNORED = `
  create function park() returns trigger language plpgsql
    as $$ begin new.status = 'parked'; new.failure = 'permanent'; return new; end $$;
  create trigger park before update on webhooks.events for each row when (new.status = 'ignored')
    execute function park()`;

it('a rollback that would bring an old secret back is refused, and the end of a rotation takes the old secret away', async () => {
  const { text } = await rotate(['--finish']);
  expect([text, secrets()]).toEqual(['done: orders accepts only its current secret', ['second', undefined]]);
  expect((await rotate(['--finish'])).text).toBe('orders has no previous secret: there is nothing to finish');
  // The newest versions are those of a deploy again.
  await account.sql(url, PARK_WHAT_IS_IGNORED);
  const { code, error } = await deploy([], { SMOKE_SOURCE: 'orders', SMOKE_SECRET: 'second' });
  expect([code, error]).toEqual([
    1,
    'deploy: everything is deployed, but a delivery did not get through it: leg 3, the consumer: the event is parked (permanent: null). Look at npx wrangler tail of the consumer. To go back, run this with --rollback\n',
  ]);
  const back = await deploy(['--rollback']);
  expect(back.code).toBe(1);
  expect(back.text).toContain(
    `deploy: secrets of the receiver have changed since the deploy of ${second}, and a rollback`,
  );
});
