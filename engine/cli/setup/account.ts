import { spawnSync } from 'node:child_process';
import { type Account, ApiError, openAccount, PERMISSIONS, TOKENS_PAGE } from '../cloudflare/api.ts';
import { runWrangler } from '../cloudflare/wrangler.ts';
import { listed, type WorkerConfigs } from '../config/worker-config.ts';
import { programOf } from '../lib/app.ts';
import { UserError } from '../lib/user-error.ts';
import type { Terminal } from './terminal.ts';

/** Wrangler's login, or the token in the environment, and the account. */
export async function logIn(terminal: Terminal): Promise<Account> {
  const isLoggedIn = async () => process.env.CLOUDFLARE_API_TOKEN || (await runWrangler(['auth', 'token'])).isDone;
  if (!(await isLoggedIn())) {
    const may =
      terminal.isAsking && (await terminal.confirm('nobody is logged in to Cloudflare: open the browser for it?'));
    if (may) spawnSync(process.execPath, [programOf('wrangler'), 'login'], { stdio: 'inherit' });
    if (!may || !(await isLoggedIn())) {
      throw new UserError(
        `nobody is logged in to Cloudflare: npx wrangler login, or make a token with ${PERMISSIONS} (${TOKENS_PAGE}) and set CLOUDFLARE_API_TOKEN`,
      );
    }
  }
  const account = await openAccount(async (accounts) => {
    if (!terminal.isAsking) return undefined;
    const choice = accounts.map(({ name }, index) => `${index + 1} ${name}`).join(', ');
    return accounts[Number(await terminal.ask(`account: ${choice}`, '1')) - 1];
  });
  // A token may have one permission and lack the other.
  await Promise.all([account.get('/queues'), account.get('/workers/subdomain')]);
  terminal.step('ok', 'account', account.name);
  return account;
}

export async function chooseSubdomain(account: Account, terminal: Terminal, name: string): Promise<string> {
  const subdomain = await terminal.ask('the account has no workers.dev subdomain yet. Its name', name);
  await account.send('PUT', '/workers/subdomain', { subdomain }).catch((error: Error) => {
    throw new UserError(
      `${subdomain}.workers.dev can't be yours, so run this again and choose another: ${error.message}`,
    );
  });
  terminal.step('done', 'subdomain', `${subdomain}.workers.dev`);
  return subdomain;
}

/** The most that Cloudflare keeps a message, on a paid plan. An event that was forwarded is nowhere else. */
const LONGEST_RETENTION_S = 14 * 86_400;
const FREE_RETENTION_S = 86_400;

interface Queue {
  readonly queue_name: string;
  readonly settings?: { readonly message_retention_period?: number };
  readonly consumers?: readonly { readonly script?: string; readonly service?: string; readonly type?: string }[];
}

/** What there is of a Worker. */
interface WorkerState {
  readonly secrets: readonly string[];
  readonly bindings: readonly { readonly name: string; readonly type: string; readonly queue_name?: string }[];
  readonly crons: readonly string[];
  /** At `<name>.<subdomain>.workers.dev`. */
  readonly isPublic: boolean;
}

/** What the account has of what we need. */
export interface Existing {
  readonly subdomain: string | undefined;
  readonly queues: readonly Queue[];
  /** By name. */
  readonly workers: Readonly<Record<string, WorkerState | undefined>>;
}

export async function existing(account: Account, configs: WorkerConfigs): Promise<Existing> {
  const [subdomain, queues, ...workers] = await Promise.all([
    account.get<{ subdomain: string }>('/workers/subdomain'),
    queuesAt(account),
    ...listed(configs).map(async ({ name }) => [name, await workerAt(account, name)] as const),
  ]);
  return { subdomain: subdomain?.subdomain, queues, workers: Object.fromEntries(workers) };
}

async function queuesAt(account: Account): Promise<readonly Queue[]> {
  return (await account.get<Queue[]>('/queues?per_page=100')) ?? [];
}

async function workerAt(account: Account, name: string): Promise<WorkerState | undefined> {
  const path = `/workers/scripts/${name}`;
  const settings = await account.get<Pick<WorkerState, 'bindings'>>(`${path}/settings`);
  if (!settings) return undefined;
  const [crons, subdomain] = await Promise.all([
    account.get<{ schedules: { cron: string }[] }>(`${path}/schedules`),
    account.get<{ enabled: boolean }>(`${path}/subdomain`),
  ]);
  const { bindings } = settings;
  return {
    secrets: bindings.filter(({ type }) => type === 'secret_text').map((secret) => secret.name),
    bindings,
    crons: (crons?.schedules ?? []).map(({ cron }) => cron),
    isPublic: subdomain?.enabled ?? false,
  };
}

/** All queues that the Workers name. */
function queuesOf(configs: WorkerConfigs): string[] {
  const { consumes, deadLetterQueues } = configs.consumer;
  return [...new Set([...consumes, ...Object.values(deadLetterQueues).filter((queue) => queue !== undefined)])];
}

/** Another Worker's queue, or another's name: whatever we did would harm somebody. */
export function assertFree(configs: WorkerConfigs, { queues, workers }: Existing): void {
  const { consumer } = configs;
  const wanted = new Set(queuesOf(configs));
  for (const { queue_name: queue, consumers = [] } of queues) {
    if (!wanted.has(queue)) continue;
    for (const { script, service, type } of consumers) {
      const name = script ?? service ?? `a consumer of the type ${type}`;
      if (name === consumer.name) continue;
      throw new UserError(
        `the queue ${queue} is consumed by ${name}, and a queue has one consumer: npx wrangler queues consumer remove ${queue} ${name}, or name another queue in the wrangler files`,
      );
    }
  }
  for (const { path, name, produces } of listed(configs)) {
    const state = workers[name];
    const isOurs = state?.bindings.some((one) => one.type === 'queue' && one.queue_name === produces.EVENTS);
    if (!state || isOurs) continue;
    throw new UserError(
      `the account has another Worker named ${name}, which doesn't send to the queue ${produces.EVENTS}: choose another name in ${path}`,
    );
  }
}

export function missingQueues(configs: WorkerConfigs, { queues }: Pick<Existing, 'queues'>): string[] {
  return queuesOf(configs).filter((name) => !queues.some((queue) => queue.queue_name === name));
}

/** Creates the queues that are missing, and finds out whether the plan keeps messages for longer than a day. */
export async function ensureQueues(
  account: Account,
  configs: WorkerConfigs,
  terminal: Terminal,
): Promise<{ readonly isFree: boolean }> {
  const names = queuesOf(configs);
  const queues = await queuesAt(account);
  const missing = missingQueues(configs, { queues });
  const ours = queues.filter((queue) => names.includes(queue.queue_name));
  let isFree = ours.some(({ settings }) => settings?.message_retention_period === FREE_RETENTION_S);
  for (const name of missing) {
    const create = (settings: object) => account.send('POST', '/queues', { queue_name: name, ...settings });
    try {
      const settings = { message_retention_period: LONGEST_RETENTION_S };
      await create(isFree ? {} : { settings }).catch((error) => {
        // The Free plan keeps every message for one day, and refuses any other time.
        if (!(error instanceof ApiError) || error.status !== 400) throw error;
        isFree = true;
        return create({});
      });
    } catch (error) {
      // Somebody else has created it in this moment.
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    }
  }
  const kept = isFree ? 'a message is kept for one day' : 'a new one keeps messages for 14 days';
  if (missing.length > 0) terminal.step('done', 'queues', `created ${missing.join(', ')}: ${kept}`);
  else terminal.step('ok', 'queues', names.join(', '));
  return { isFree };
}
