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
beforeAll(async () => {
  url = await account.newDatabase('prod');
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

const DELIVERED = /\bdelivery +signed as orders: 200 after \d+ ms, ignored by the consumer/;

const setup = (args: readonly string[]) => account.setup(args, { env: { DATABASE_URL: url } });
const deploy = (args: readonly string[] = [], env = {}) =>
  account.run(['deploy', ...args], { DATABASE_URL: url, ...env }).result;

/** The tag of the version that runs. */
const runningTag = (worker: WorkerKind) =>
  account.cloudflare.deployed(nameOf(worker))?.metadata.annotations?.['workers/tag'];

it('goes from two new accounts to a delivery that the deployed Workers have worked, and asks five questions', async () => {
  account.cloudflare.subdomain = undefined;
  const { code, text, outcomes } = await account.setup([], { answers: ['taken', 'stand-in', url, '', SECRET, 'y'] });
  expect([code, outcomes], text).toEqual([0, ['ok', 'ok', ...Array(8).fill('done')]]);
  expect(text).toMatch(DELIVERED);
  expect(text.match(/^ {2}\d /gm)?.length).toBeLessThanOrEqual(5);
  expect(text).not.toContain(SECRET);
  expect(text).toMatch(/register these addresses [\s\S]*\/webhooks\/orders/);
  const { cloudflare, checkout } = account;
  expect(text).toContain(`made up, and only shown now: OPS_TOKEN=${cloudflare.valuesOf(nameOf('ops')).OPS_TOKEN}\n`);
  expect(cloudflare.valuesOf(nameOf('receiver')).ORDERS_WEBHOOK_SECRET).toBe(SECRET);
  const kept = cloudflare.queues.map(({ settings, jurisdiction }) => [settings.message_retention_period, jurisdiction]);
  expect(kept).toEqual(Array(4).fill([1_209_600, 'eu']));
  const file = readFileSync(join(checkout.path, 'wrangler.toml'), 'utf8');
  expect(file).toMatch(/\[placement\]\nregion = "aws:eu-central-1"/);
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
  const left = [
    'checkout-receiver.stand-in',
    'checkout-ops.stand-in',
    'protect the console',
    'be told when work fails',
  ];
  for (const part of left) expect(text).toContain(part);
  // The test before has sent something: nobody has to register that address.
  expect(text).not.toContain('register these addresses');
});

it('a queue and a Worker that are gone are made again, with what belongs to them', async () => {
  const { cloudflare } = account;
  cloudflare.scripts.delete(nameOf('ops'));
  cloudflare.queues = cloudflare.queues.filter(({ queue_name }) => queue_name !== 'one');
  const { code, text } = await setup(['--yes']);
  expect([code, text]).toEqual([0, expect.stringContaining('created one: they keep a message for 14 days, in eu')]);
  expect(cloudflare.queues.map(({ consumers }) => consumers.length)).toEqual([1, 1, 1, 1]);
  expect(cloudflare.valuesOf(nameOf('ops'))).toHaveProperty('DATABASE_URL');
  expect(cloudflare.valuesOf(nameOf('receiver')).ORDERS_WEBHOOK_SECRET).toBe(SECRET);
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
  const reasons = [
    'no ONE_MORE',
    'no Worker checkout-ops',
    'no queue two-dead',
    'drops public.invoices.currency',
    'no delivery of nobody',
  ];
  const lines = ['nothing was changed', ...reasons].map((part) => expect.stringContaining(part));
  expect(text.split('\n').slice(1)).toEqual(lines);
  expect(cloudflare.calls.slice(before).filter((call) => !call.startsWith('GET '))).toEqual([]);
  expect(
    await account.sql(url, `select 1 as there from information_schema.columns where column_name = 'currency'`),
  ).toHaveLength(1);

  await checkout.write('drizzle/meta/_journal.json', applied);
  cloudflare.queues = queues;
  await checkout.write('wrangler.toml', receiver);
  if (ops) scripts.set(nameOf('ops'), ops);
});

it('a deploy that fails halfway leaves Workers that work together, refuses another one meanwhile, and is done by the next', async () => {
  const { cloudflare } = account;
  let other: { error: string } | undefined;
  cloudflare.fault = async (call) => {
    if (call !== 'POST /workers/scripts/checkout-ops/versions') return undefined;
    other ??= await deploy();
    return { status: 400, code: 10021, message: 'Uncaught SyntaxError' };
  };
  let result = { error: '', text: '' };
  expect(await changesBy(async () => (result = await deploy()))).toEqual(['consumer', 'receiver']);
  cloudflare.fault = undefined;
  expect(other?.error).toContain('the lock of setup and deploy is held by another session');
  expect(result.error).toContain('Already deployed: consumer and receiver.');
  expect(runningTag('consumer')).toBe(runningTag('receiver'));

  // Inside Workers Builds, which renames what is deployed.
  const builds = { WRANGLER_CI_OVERRIDE_NAME: nameOf('receiver'), WRANGLER_CI_MATCH_TAG: 'the tag of another Worker' };
  const smoke = { SMOKE_SOURCE: 'orders', SMOKE_SECRET: SECRET };
  const redeploy = changesBy(async () => (result = await deploy([], { ...builds, ...smoke })));
  expect(await redeploy).toEqual(['consumer', 'receiver', 'ops']);
  expect(result.text).toMatch(DELIVERED);
  expect(new Set(WORKERS.map(runningTag)).size).toBe(1);
  expect(cloudflare.valuesOf(nameOf('receiver'))).toHaveProperty('ORDERS_WEBHOOK_SECRET');
  expect(cloudflare.valuesOf(nameOf('consumer'))).toHaveProperty('EVENTS_DEAD_QUEUE');
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
  expect([mistyped.code, mistyped.text]).toEqual([1, expect.stringContaining('nothing was changed')]);
  // Somebody has deleted the Worker in this moment.
  cloudflare.fault = (call) => (call === BULK ? { status: 404, code: 10007, message: 'Not there' } : undefined);
  const failed = await rotate([], [SECRET, '']);
  cloudflare.fault = undefined;
  expect(failed.error).toContain('Not there (10007)');
  expect(failed.text).toMatch(/^made up, and shown only now: \w+$/m);
  expect([failed.code, secrets()]).toEqual([1, [SECRET, undefined]]);

  const slow = account.run(['secret', 'rotate', 'orders']);
  await vi.waitFor(() => expect(slow.output()).toContain('signs with now'), WAIT);
  const { code, text } = await rotate([], [SECRET, 'second']);
  slow.child.stdin?.end(`${SECRET}\nthird\n`);
  expect((await slow.result).error).toContain('orders has got two secrets meanwhile');
  expect([code, secrets()]).toEqual([0, ['second', SECRET]]);
  expect(text).toContain('\n1  enter the new secret at the sender\n');
  const again = await rotate();
  expect([again.code, secrets()]).toEqual([0, ['second', SECRET]]);
  expect(again.text).toMatch(/npm run secret -- rotate orders --finish$/);
  for (const output of [mistyped.text, failed.text, text, again.text]) {
    expect(output).not.toMatch(/the-secret-of-the-sender|\bsecond\b/);
  }
});

const PARK_WHAT_IS_IGNORED = `
  create function park() returns trigger language plpgsql
    as $$ begin new.status = 'parked'; new.failure = 'permanent'; return new; end $$;
  create trigger park before update on webhooks.events for each row when (new.status = 'ignored')
    execute function park()`;

it('the end of a rotation takes the old secret away, and a deploy says which leg of its delivery has failed', async () => {
  const { text } = await rotate(['--finish']);
  expect([text, secrets()]).toEqual([expect.stringContaining('only its current secret'), ['second', undefined]]);
  expect((await rotate(['--finish'])).text).toContain('there is nothing to finish');
  await account.sql(url, PARK_WHAT_IS_IGNORED);
  const { code, error } = await deploy([], { SMOKE_SOURCE: 'orders', SMOKE_SECRET: 'second' });
  expect([code, error]).toEqual([
    1,
    expect.stringMatching(/everything is deployed, but .*leg 3, .*parked \(permanent/),
  ]);
});
