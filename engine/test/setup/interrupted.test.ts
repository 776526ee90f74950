import { beforeAll, expect, it } from 'vitest';
import { RECEIVER } from '../orders-app.ts';
import { SECRET, useAccount } from './account.ts';

const account = useAccount();
const ENVIRONMENT = 'staging';
let uri: string;
beforeAll(async () => {
  uri = await account.newDatabase('staging');
  // What the receiver has at the top is elsewhere: it runs in America, at an address of its own.
  const elsewhere =
    'route = { pattern = "hooks.example.com", custom_domain = true }\nplacement = { region = "aws:us-east-1" }';
  await account.checkout.write('wrangler.toml', `${RECEIVER}${elsewhere}\n`);
});

const pooled = () => uri.replace(/(ep-[^.]+)\./, '$1-pooler.');

/** What there is of the environment in the end, however it came to it. */
function end() {
  const { cloudflare } = account;
  const worker = (kind: string) => {
    const name = `checkout-${kind}-${ENVIRONMENT}`;
    const { subdomain, schedules } = cloudflare.scripts.get(name) ?? {};
    const secrets = cloudflare.deployed(name)?.metadata.bindings.filter(({ type }) => type === 'secret_text');
    return [subdomain?.enabled, schedules?.map(({ cron }) => cron), secrets?.map((secret) => secret.name).sort()];
  };
  return {
    receiver: worker('receiver'),
    consumer: worker('consumer'),
    ops: worker('ops'),
    queues: cloudflare.queues.map(({ consumers }) => consumers.map(({ script }) => script)),
  };
}

/** Steps of a deploy of a Worker that can be the last. */
const STEPS = ['the consumer of a queue', 'receiver subdomain'];

function stepOf(call: string): string | undefined {
  if (/\/consumers/.test(call)) return 'the consumer of a queue';
  const [, worker, part] = /checkout-(\w+)-staging\/(\w+)$/.exec(call) ?? [];
  return STEPS.find((step) => step === `${worker} ${part}`);
}
const REFUSED = { status: 400, message: 'not this time' };

it('an environment on the Free plan is finished although a run was ended by Ctrl-C, and the next one failed', async () => {
  const { cloudflare } = account;
  cloudflare.plan = 'free';
  const met: string[] = [];
  const setup = () => {
    let now: string | undefined;
    let isEnded = false;
    return account.setup(['--yes', '--env', ENVIRONMENT], {
      env: { ORDERS_WEBHOOK_SECRET: SECRET, DATABASE_URL: uri },
      fault: (call, stop) => {
        if (call.startsWith('GET ')) return undefined;
        const step = stepOf(call);
        // In a terminal, Ctrl-C ends wrangler too.
        if (isEnded) return REFUSED;
        if (step === undefined || (now ? step !== now : met.includes(step))) return undefined;
        if (!now) met.push(step);
        now = step;
        if (met.length % 2 === 0) return REFUSED;
        isEnded = true;
        stop();
        return undefined;
      },
    });
  };
  for (const [step, wanted] of Object.entries({ 'the consumer of a queue': 130, 'receiver subdomain': 1 })) {
    const { code, error } = await setup();
    expect([met.at(-1), code, error.split('\n').length]).toEqual([step, wanted, 1]);
  }
  const { code, text } = await setup();
  expect([code, met], text).toEqual([0, STEPS]);
  expect(text).toContain('https://checkout-receiver-staging.stand-in.workers.dev/webhooks/orders');
  expect(end()).toEqual({
    receiver: [true, [], ['DATABASE_URL', 'ORDERS_WEBHOOK_SECRET']],
    consumer: [true, ['*/15 * * * *'], ['DATABASE_URL']],
    ops: [true, [], ['DATABASE_URL']],
    queues: Array(4).fill([`checkout-consumer-${ENVIRONMENT}`]),
  });
  const { outcomes, changes } = await setup();
  expect([new Set(outcomes), changes]).toEqual([new Set(['ok']), []]);
}, 300_000);

it.each([
  ['migrate', 0, 'the database is up to date'],
  ['roles', 0, 'the roles have the rights that this version needs'],
  ['deploy', 1, 'there is no queue two-dead-staging: npm run setup -- --env staging creates it'],
])(
  '%s with --env works on the database of that environment, by its pooled host too, and on no other',
  async (command, code, line) => {
    const { cloudflare } = account;
    cloudflare.queues = cloudflare.queues.filter(({ queue_name }) => queue_name !== 'two-dead-staging');
    const DATABASE_URL = pooled();
    const refused = await account.run([command], { DATABASE_URL }).result;
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringContaining('this database belongs to checkout-receiver-staging'),
    ]);
    const done = await account.run([command, '--env', ENVIRONMENT], { DATABASE_URL }).result;
    expect([done.code, done.text.split('\n')]).toEqual([code, expect.arrayContaining([line])]);
  },
);

it('a rotation with --env is one of that environment, and so is the command that ends it', async () => {
  const { child, result } = account.run(['secret', 'rotate', 'orders', '--env', ENVIRONMENT]);
  child.stdin?.end(`${SECRET}\nsecond\n`);
  expect((await result).text).toMatch(/\n3 {2}npm run secret -- rotate orders --env staging --finish$/);
  expect(account.cloudflare.valuesOf('checkout-receiver-staging').ORDERS_WEBHOOK_SECRET).toBe('second');
});

it('a copy of a database, such as a branch of Neon, gets new passwords and a delivery of its own', async () => {
  const urls = () =>
    ['receiver', 'consumer', 'ops'].map(
      (kind) => account.cloudflare.valuesOf(`checkout-${kind}-${ENVIRONMENT}`).DATABASE_URL,
    );
  const before = urls();
  // As Neon copies it: with its roles, its events, and the note of the host that it is a copy of.
  const note = `checkout-receiver-${ENVIRONMENT} at ep-other-1.eu-central-1.aws.neon.tech: receiver consumer ops`;
  await account.sql(uri, `comment on schema webhooks is '${note}'`);
  const env = { DATABASE_URL: pooled(), ORDERS_WEBHOOK_SECRET: 'second' };
  const { code, text } = await account.setup(['--yes', '--env', ENVIRONMENT], { env });
  expect([code, text]).toEqual([0, expect.stringMatching(/^done {2}delivery {3}signed as orders/m)]);
  expect(text).toMatch(/register these addresses [\s\S]*\/webhooks\/orders/);
  expect(urls().filter((url) => before.includes(url))).toEqual([]);
});
