import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Trial } from '../../cli/try-live/trial.ts';
import { RECEIVER } from '../orders-app.ts';
import { type SetupOptions, STRANGER, useAccount } from './account.ts';

const account = useAccount();
const { neon } = account;
/** The owner's URL of the newest database, as Postgres knows it. */
const newest = () => neon.created.at(-1) ?? '';

const file = () => join(account.checkout.path, '.data/try-live.json');
const state = (): Trial => JSON.parse(readFileSync(file(), 'utf8'));
const tryLive = (options: SetupOptions = {}, args: readonly string[] = ['--yes']) =>
  account.command(['try-live', ...args], { env: STRANGER, ...options });
const down = () => tryLive({}, ['--down', '--yes']);
const ADDRESS = 'https://checkout-receiver.stand-in.workers.dev';

/** The owner of the account that was temporary has a token of their own. */
function claim(): void {
  account.cloudflare.account = { ...account.cloudflare.account, token: 'token-of-the-stand-in' };
}
const SEVERAL = { CLOUDFLARE_ACCOUNT_ID: '' };

/** Its time is over. */
function expire(what: 'account' | 'database'): void {
  const trial = state();
  writeFileSync(file(), JSON.stringify({ ...trial, [what]: { ...trial[what], expiresAt: '2026-01-01T00:00:00Z' } }));
}

it('send --live says that nothing is live yet, and terms that are not accepted make nothing', async () => {
  expect((await account.command(['send', 'orders', '--live'])).error).toContain('npm run try-live deploys it');
  const { code, error, changes } = await tryLive({ answers: ['no'] }, []);
  expect([code, error, changes]).toEqual([1, expect.stringContaining('the terms were not accepted'), []]);
});

it.each(['account_id = "mine"', 'route = "hooks.example.com/*"'])('%s in a wrangler file is refused', async (line) => {
  await account.checkout.write('wrangler.toml', RECEIVER.replace('main =', `${line}\nmain =`));
  const { error, changes } = await tryLive();
  await account.checkout.write('wrangler.toml', RECEIVER);
  expect([error, changes]).toEqual([expect.stringMatching(/^try-live: wrangler\.toml has \w+, which fits no/), []]);
});

it('goes from nothing, without an account, to Workers that have worked a delivery, and changes no file but its own', async () => {
  const { code, text } = await tryLive({ answers: ['yes'] }, []);
  expect(code, text).toBe(0);
  expect(text).toMatch(/^done {2}delivery {3}signed as orders: 200 after \d+ ms, ignored by the consumer \d+ ms/m);
  const { account: made, database, secrets } = state();
  const claims = [made, database].map((one) => `${one?.claimUrl}  until ${one?.expiresAt.slice(0, 10)}`);
  for (const part of [`${ADDRESS}/webhooks/orders`, `the password ${secrets.OPS_TOKEN}`, ...claims]) {
    expect(text).toContain(part);
  }
  const hidden = [made?.apiToken, database?.url, new URL(database?.url ?? '').password, secrets.ORDERS_WEBHOOK_SECRET];
  for (const secret of hidden) expect(text).not.toContain(secret);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(account.checkout.path, 'wrangler.toml'), 'utf8')).toBe(RECEIVER);
  const roles = ['receiver', 'consumer', 'ops'].map((kind) => {
    const { DATABASE_URL } = account.cloudflare.valuesOf(`checkout-${kind}`);
    return new URL(String(DATABASE_URL)).username;
  });
  expect(roles).toEqual(['claimable_0_receiver', 'claimable_0_consumer', 'claimable_0_ops']);
}, 120_000);

it('send --live sends with the secret that only the trial has', async () => {
  const { code, text } = await account.command(['send', 'orders', '--live', '--times', '2', '--id', 'evt_live']);
  expect([code, text]).toEqual([0, expect.stringMatching(/"accepted".*\n.*"duplicate"/)]);
});

it('a second run makes nothing again, and deploys what has changed, also in the shell of somebody with an account', async () => {
  const values = () => ['receiver', 'consumer', 'ops'].map((kind) => account.cloudflare.valuesOf(`checkout-${kind}`));
  const before = values();
  const { code, changes, outcomes, text } = await tryLive({ env: { DATABASE_URL: 'postgres://somebody/else' } });
  expect([code, outcomes, values()], text).toEqual([0, [...Array(6).fill('ok'), ...Array(4).fill('done')], before]);
  expect(changes.filter((call) => /provisioning|neon|\/queues$/.test(call))).toEqual([]);
}, 120_000);

it('setup goes on from there after both were claimed, and deploys nothing again', async () => {
  claim();
  const { error } = await tryLive();
  expect(error).toContain('If you have claimed it, npm run setup goes on from there');
  const early = await account.setup([], { env: SEVERAL, answers: [''] });
  expect(early.error).toContain('set DATABASE_URL');
  neon.claim();
  const { code, changes, outcomes, text } = await account.setup([], { env: SEVERAL, answers: [''] });
  await account.checkout.write('wrangler.toml', RECEIVER);
  expect([code, changes, outcomes.filter((one) => one === 'ok').length], text).toEqual([0, [], 8]);
  expect(text).toMatch(/aws:eu-central-1 in wrangler\.toml.* \(npm run deploy places the Worker there\)/);
});

it('what was claimed is not removed', async () => {
  const { code, changes, outcomes, text } = await down();
  expect([code, changes, outcomes], text).toEqual([0, [], ['needs', 'needs']]);
  expect(await account.sql(newest(), 'select from webhooks.events')).toHaveLength(3);
  expect((await down()).text).toBe('there is nothing to remove');
});

/** The requests of a run that can be its last, in their order. */
const STEPS = [
  'POST /provisioning/previews/challenge',
  'POST /provisioning/previews',
  'POST neon.new',
  'POST /queues',
  'PUT /workers/scripts/checkout-consumer',
  'the consumer of a queue',
  'PUT /workers/scripts/checkout-receiver',
  'PUT /workers/scripts/checkout-ops',
];

it('goes on wherever a step has failed once, and was ended by Ctrl-C once', async () => {
  for (const step of STEPS) {
    const isStep = (call: string) => step === (/\/consumers/.test(call) ? 'the consumer of a queue' : call);
    let isEnded = false;
    const failed = await tryLive({
      fault: (call) => (isStep(call) ? { status: 429, code: 10013, message: 'Slow down' } : undefined),
    });
    expect([step, failed.code, failed.error]).toEqual([step, 1, expect.stringMatching(/^try-live: .*npm run setup$/)]);
    const ended = await tryLive({
      fault: (call, stop) => {
        if (isEnded) return { status: 400, message: 'it was ended' };
        if (!isStep(call)) return undefined;
        isEnded = true;
        stop();
        return undefined;
      },
    });
    expect([step, ended.code, ended.error]).toEqual([step, 130, '']);
  }
  const { code, text } = await tryLive();
  expect(code, text).toBe(0);
}, 600_000);

it('makes a new account when the hour of the first is over, with the same database', async () => {
  const { name } = state().account ?? {};
  expire('account');
  expect((await tryLive()).error).toContain(`${ADDRESS} answers although its hour is over`);
  account.cloudflare.scripts.clear();
  account.cloudflare.queues = [];
  const count = neon.created.length;
  const { code, text, outcomes } = await tryLive();
  expect([code, outcomes.slice(0, 2), neon.created.length], text).toEqual([0, ['done', 'ok'], count]);
  expect(state().account?.name).not.toBe(name);
}, 120_000);

it('gives the Workers a new database when the time of the first is over', async () => {
  expire('database');
  const { code, text, outcomes } = await tryLive();
  expect([code, outcomes.slice(0, 2)], text).toEqual([0, ['ok', 'done']]);
}, 120_000);

it('an app that was renamed, as by init, is told to remove the trial first', async () => {
  await account.checkout.write('wrangler.toml', RECEIVER.replace('checkout-receiver', 'acme-receiver'));
  const { error, changes } = await tryLive();
  expect([error, changes]).toEqual([expect.stringContaining('what is live is called checkout-receiver'), []]);
});

it('--down removes Workers, queues, tables and roles, and goes on after a failure', async () => {
  const { cloudflare } = account;
  const url = newest();
  const fault: SetupOptions['fault'] = (call) =>
    call === 'DELETE /workers/scripts/checkout-consumer' ? { status: 500 } : undefined;
  const failed = await tryLive({ fault }, ['--down', '--yes']);
  expect([failed.code, cloudflare.scripts.size]).toEqual([1, 2]);
  const { code, text } = await down();
  await account.checkout.write('wrangler.toml', RECEIVER);
  expect([code, text]).toEqual([0, expect.stringContaining('emptied the database. Neon deletes it at')]);
  expect([cloudflare.scripts.size, cloudflare.queues]).toEqual([0, []]);
  const left = `select nspname from pg_namespace where nspowner = current_user::regrole
    union all select rolname from pg_roles where rolname like current_database() || '\\_%'`;
  expect(await account.sql(url, left)).toEqual([]);
  expect((await down()).text).toBe('there is nothing to remove');
}, 120_000);

it('an account without crons and an owner who may make no roles are enough, and setup does the rest later', async () => {
  const isCron = (call: string) => /^PUT .*\/schedules$/.test(call);
  const { create } = neon;
  let admin = '';
  neon.create = async () => {
    admin = await create();
    const name = new URL(admin).pathname.slice(1);
    const sql = `create role plain login password 'a-password-of-plain'; grant plain to current_user;
      alter database ${name} owner to plain`;
    await account.sql(admin, sql);
    return Object.assign(new URL(admin), { username: 'plain', password: 'a-password-of-plain' }).href;
  };
  const first = await tryLive({ fault: (call) => (isCron(call) ? { status: 403, message: 'No crons' } : undefined) });
  expect(first.code, first.text + first.error).toBe(0);
  expect(first.text).toMatch(/^needs +roles +the database's owner may not make any/m);
  expect(first.text).toMatch(/^needs +consumer +deployed checkout-consumer without its cron/m);
  neon.create = create;
  claim();
  neon.claim();
  await account.sql(admin, 'alter role plain createrole');
  const { code, changes, text } = await account.setup([], { env: SEVERAL, answers: ['', 'y'] });
  await account.checkout.write('wrangler.toml', RECEIVER);
  expect(code, text).toBe(0);
  expect(changes.filter((call) => /(versions|schedules)$/.test(call))).toEqual([
    'POST /workers/scripts/checkout-consumer/versions',
    'PUT /workers/scripts/checkout-consumer/schedules',
  ]);
  await down();
}, 120_000);
