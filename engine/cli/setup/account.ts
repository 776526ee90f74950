import { randomBytes } from 'node:crypto';
import { type Account, ApiError } from '../cloudflare/api.ts';
import { listed, type WorkerConfigs, wranglerFlags } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import type { Terminal } from './terminal.ts';

/** The most that Cloudflare keeps a message, on a paid plan. An event that was forwarded is nowhere else. */
const LONGEST_RETENTION_S = 14 * 86_400;

interface Queue {
  readonly queue_id: string;
  readonly queue_name: string;
  readonly jurisdiction?: string;
  readonly consumers?: readonly {
    readonly consumer_id: string;
    readonly script?: string;
    readonly service?: string;
    readonly type?: string;
  }[];
}

/** What there is of a Worker. */
interface WorkerState {
  readonly secrets: readonly string[];
  /** The queues that it sends to. */
  readonly produces: readonly string[];
}

/** What the account has of what we need. */
export interface Existing {
  readonly queues: readonly Queue[];
  /** By name. */
  readonly workers: Readonly<Record<string, WorkerState | undefined>>;
}

export function existing(account: Account, configs: WorkerConfigs): Promise<Existing> {
  return existingOf(account, namesIn(configs));
}

/** What an app is called at Cloudflare. */
export interface Names {
  readonly workers: readonly string[];
  readonly queues: readonly string[];
}

export function namesIn(configs: WorkerConfigs): Names {
  return { workers: listed(configs).map(({ name }) => name), queues: queuesOf(configs) };
}

export async function existingOf(account: Account, names: Names): Promise<Existing> {
  // By name: a list has pages.
  const queues = names.queues.map((name) => account.get<Queue[]>(`/queues?${new URLSearchParams({ name })}`));
  const workers = names.workers.map(async (name) => [name, await workerAt(account, name)] as const);
  // At once: otherwise, of two that fail, nobody would wait for the second.
  const [found, states] = await Promise.all([Promise.all(queues), Promise.all(workers)]);
  return { queues: found.flatMap((one) => one ?? []), workers: Object.fromEntries(states) };
}

interface Settings {
  readonly bindings: readonly { readonly name: string; readonly type: string; readonly queue_name?: string }[];
}

export async function workerAt(account: Account, name: string): Promise<WorkerState | undefined> {
  const settings = await account.get<Settings>(`/workers/scripts/${name}/settings`);
  return (
    settings && {
      secrets: settings.bindings.filter(({ type }) => type === 'secret_text').map((secret) => secret.name),
      produces: settings.bindings.flatMap(({ queue_name = [] }) => queue_name),
    }
  );
}

/** All queues that the Workers name. */
function queuesOf({ consumer: { consumes, deadLetterQueues } }: WorkerConfigs): string[] {
  return [...new Set([...consumes, ...Object.values(deadLetterQueues).filter((queue) => queue !== undefined)])];
}

/** Another Worker's queue, or another's name: whatever we did would harm somebody. */
export function assertFree(configs: WorkerConfigs, { queues, workers }: Existing): void {
  for (const { queue_name: queue, consumers = [] } of queues) {
    for (const { script, service, type } of consumers) {
      const name = script ?? service ?? `a consumer of the type ${type}`;
      if (name === configs.consumer.name) continue;
      throw new UserError(
        `the queue ${queue} is consumed by ${name}, and a queue has one consumer: npx wrangler queues consumer remove ${queue} ${name}, or name another queue in the wrangler files`,
      );
    }
  }
  for (const { path, name, produces } of listed(configs)) {
    const { EVENTS = '' } = produces;
    if (workers[name]?.produces.includes(EVENTS) ?? true) continue;
    throw new UserError(
      `the account has another Worker named ${name}, which doesn't send to the queue ${EVENTS}: choose another name in ${path}`,
    );
  }
}

export function missingQueues(configs: WorkerConfigs, queues: readonly Queue[]): string[] {
  return queuesOf(configs).filter((name) => !queues.some((queue) => queue.queue_name === name));
}

/** What the deploys would refuse only halfway: secrets and queues that are missing. One sentence each. */
export function missingAtCloudflare(configs: WorkerConfigs, { queues, workers }: Existing): string[] {
  const env = configs.receiver.environment;
  const setup = `npm run setup${env && ` -- --env ${env}`}`;
  const secrets = listed(configs).flatMap((config) => {
    const state = workers[config.name];
    if (!state) return [`there is no Worker ${config.name} yet: ${setup} creates it`];
    const missing = config.secrets.filter((name) => !state.secrets.includes(name));
    return missing.map(
      (name) => `${config.name} has no ${name}: npx wrangler secret put ${name} ${wranglerFlags(config)}`,
    );
  });
  return [
    ...secrets,
    ...missingQueues(configs, queues).map((name) => `there is no queue ${name}: ${setup} creates it`),
  ];
}

/** Creates the queues that are missing. Says which, and how long they keep a message. */
export async function ensureQueues(
  account: Account,
  configs: WorkerConfigs,
  { queues }: Existing,
  jurisdiction?: string,
): Promise<string> {
  const missing = missingQueues(configs, queues);
  let kept = '14 days';
  for (const queue_name of missing) {
    const queue = { queue_name, ...(jurisdiction && { jurisdiction }) };
    const settings = { message_retention_period: LONGEST_RETENTION_S };
    await account.send('POST', '/queues', { ...queue, settings }).catch((error) => {
      // The Free plan keeps every message for one day, and refuses any other time.
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      kept = 'one day, as the Free plan does';
      return account.send('POST', '/queues', queue);
    });
  }
  const where = jurisdiction ? `, in ${jurisdiction}` : '';
  return missing.length > 0 ? `created ${missing.join(', ')}: they keep a message for ${kept}${where}` : '';
}

/** The name that is part of the addresses of all Workers of an account: a new account has none. */
export async function makeSubdomain(terminal: Terminal, account: Account, receiver: string): Promise<void> {
  const proposed = `${receiver.replace(/-receiver$/, '')}-${randomBytes(2).toString('hex')}`;
  for (;;) {
    const answer = await terminal.ask(`name of the account's subdomain of workers.dev [${proposed}]`);
    try {
      return await account.send('PUT', '/workers/subdomain', { subdomain: answer || proposed });
    } catch (error) {
      const isTaken = error instanceof ApiError && (error.status === 400 || error.status === 409);
      if (!isTaken || !terminal.isAsking) throw error;
      terminal.note(error.reason);
    }
  }
}
