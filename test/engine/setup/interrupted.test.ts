import { expect, it } from 'vitest';
import { SECRET, useAccount } from './account.ts';
import type { Fault } from './cloudflare.ts';

const account = useAccount();
/** Ten runs, most of them with wrangler. */
const LONG = 900_000;

/** What there is of an environment in the end, however it came to it. */
function endOf(environment: string) {
  const { cloudflare } = account;
  const worker = (kind: string) => {
    const name = `checkout-${kind}-${environment}`;
    const { subdomain, schedules } = cloudflare.scripts.get(name) ?? {};
    const secrets = cloudflare.deployed(name)?.metadata.bindings.filter(({ type }) => type === 'secret_text');
    return [subdomain?.enabled, schedules?.map(({ cron }) => cron), secrets?.map((secret) => secret.name).sort()];
  };
  const queues = cloudflare.queues.filter(({ queue_name }) => queue_name.endsWith(environment));
  return {
    receiver: worker('receiver'),
    consumer: worker('consumer'),
    ops: worker('ops'),
    queues: queues.map(({ consumers }) => consumers.map(({ script }) => script)),
  };
}

const consumers = (environment: string) => Array(4).fill([`checkout-consumer-${environment}`]);
const END = {
  receiver: [true, [], ['DATABASE_URL', 'ORDERS_WEBHOOK_SECRET']],
  consumer: [true, ['*/15 * * * *'], ['DATABASE_URL']],
  ops: [true, [], ['DATABASE_URL']],
};

/** The steps that change something, of which each can be the last: a queue, what a deploy is made of. */
function stepOf(call: string): string | undefined {
  const [, worker = ''] = /checkout-(\w+)-/.exec(call) ?? [];
  // A Worker that exists gets its code in two requests, and its tags are only for the dashboard.
  if (/(versions|deployments|script-settings)$/.test(call)) return undefined;
  if (call === 'POST /queues') return 'a queue';
  if (/\/consumers/.test(call)) return 'the consumer of a queue';
  return `${worker} ${/\/(subdomain|schedules)$/.exec(call)?.[1] ?? 'code'}`;
}

/** Runs setup again and again. Each time `trouble` comes at a step to which it has not come before. */
async function again(
  environment: string,
  env: Record<string, string>,
  trouble: (stop: () => unknown) => Fault | undefined,
) {
  const met: string[] = [];
  const codes: (number | null)[] = [];
  while (codes.at(-1) !== 0 && codes.length < 15) {
    let now: string | undefined;
    const { code, error } = await account.setup(['--yes', '--env', environment], {
      env: { ORDERS_WEBHOOK_SECRET: SECRET, ...env },
      onChange: (call, stop) => {
        const step = stepOf(call);
        if (step === undefined) return undefined;
        if (now === undefined && !met.includes(step)) {
          now = step;
          met.push(step);
        }
        return step === now ? trouble(stop) : undefined;
      },
    });
    codes.push(code);
    expect(error.split('\n').length, error).toBe(1);
  }
  return { met, codes };
}

const STEPS = [
  'a queue',
  'consumer code',
  'consumer subdomain',
  'consumer schedules',
  'the consumer of a queue',
  'receiver code',
  'receiver subdomain',
  'ops code',
  'ops subdomain',
];

it(
  "an environment on the Free plan, in a project that Neon's API makes, comes to the same end if each step fails once",
  async () => {
    const { cloudflare } = account;
    const uri = await account.newDatabase('staging');
    cloudflare.plan = 'free';
    const projects: object[] = [];
    cloudflare.neonApi = (method, path) => {
      if (method === 'POST') projects.push({ id: 'p', name: 'checkout-staging' });
      return {
        status: 200,
        json: path.includes('uri') ? { uri } : { projects, connection_uris: [{ connection_uri: uri }] },
      };
    };
    const env = { NEON_API_KEY: 'key' };
    const { met, codes } = await again('staging', env, () => ({ status: 400, message: 'not this time' }));
    expect([met, codes]).toEqual([STEPS, [...STEPS.map(() => 1), 0]]);
    expect(endOf('staging')).toEqual({ ...END, queues: consumers('staging') });
    expect(projects).toHaveLength(1);
    const { outcomes, text, changes } = await account.setup(['--yes', '--env', 'staging'], { env });
    expect([new Set(outcomes), changes]).toEqual([new Set(['ok']), []]);
    expect(text).toContain('Free: 10,000 queue operations a day');
  },
  LONG,
);

it(
  'a Ctrl-C at each step leaves nothing that the next run does not finish, and no secret on the disk',
  async () => {
    account.cloudflare.plan = 'paid';
    const { met, codes } = await again('qa', { DATABASE_URL: await account.newDatabase('qa') }, (stop) => {
      stop();
      return undefined;
    });
    expect(codes).toEqual([...met.map(() => 130), 0]);
    expect(endOf('qa')).toEqual({ ...END, queues: consumers('qa') });
  },
  LONG,
);
