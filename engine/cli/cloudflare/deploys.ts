import { spawnSync } from 'node:child_process';
import {
  WORKERS,
  type WorkerConfig,
  type WorkerConfigs,
  type WorkerKind,
  wranglerFlags,
} from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { defineAppLines } from '../ops/decode.ts';
import type { Account } from './api.ts';
import { runWrangler, type WranglerResult } from './wrangler.ts';

/**
 * The consumer first, so that what the new receiver writes into the queues is understood from its first message. The ops
 * Worker depends on nobody, and may be missing.
 */
export const ORDER: readonly WorkerKind[] = ['consumer', 'receiver', 'ops'];

/** The other way round, for the same reason: the newer consumer works what the newer receiver has sent. */
const ORDER_BACK: readonly WorkerKind[] = ['receiver', 'consumer', 'ops'];

/** Marks the Workers of one deploy. */
export interface Release {
  /** By it, a rollback finds the versions that belong together. */
  readonly tag: string;
  readonly commit: string;
}

export function newRelease(): Release {
  const args = ['describe', '--always', '--exclude=*', '--dirty= with uncommitted changes'];
  const { stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return { tag: `${new Date().toISOString().slice(0, 19)}Z`, commit: stdout?.trim() || 'unknown commit' };
}

/** `secrets` is a file with those that the Worker gets with its code. */
export function deployWorker(
  config: WorkerConfig,
  { tag, commit }: Release,
  { secrets, show = false }: { readonly secrets?: string; readonly show?: boolean } = {},
): Promise<WranglerResult> {
  const args = ['deploy', '--tag', tag, '--message', commit, ...(secrets ? ['--secrets-file', secrets] : [])];
  // Only the consumer works queues, and runs the code of src.
  if (config.consumes.length > 0) args.push(...defineAppLines());
  return runWrangler(args, { config, show });
}

export async function deployWorkers(configs: WorkerConfigs): Promise<void> {
  const release = newRelease();
  const done: WorkerKind[] = [];
  for (const worker of ORDER) {
    const config = configs[worker];
    if (!config) continue;
    const { isDone } = await deployWorker(config, release, { show: true });
    if (!isDone)
      throw new UserError(
        `the Worker ${config.name} was not deployed: wrangler says above why. ${stateAfterFailure(done)}`,
      );
    done.push(worker);
  }
}

function stateAfterFailure(deployed: readonly WorkerKind[]): string {
  if (deployed.length === 0) return 'No Worker has changed';
  return `Already deployed: ${deployed.join(' and ')}. What is new works with what is old: run this again, or with --rollback`;
}

/** `2026-11-19T14:03:12Z` */
const TAG = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

interface Version {
  readonly id: string;
  readonly metadata: { readonly created_on: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Deployment {
  readonly created_on: string;
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
}

/** The versions of a Worker that can still be deployed. */
interface History {
  readonly config: WorkerConfig;
  /** The newest first. */
  readonly versions: readonly Version[];
  /** Those that ran, the last first: the first one runs now. */
  readonly ran: readonly Version[];
}

/** Takes the Workers back to the deploy before the newest one that runs. Says what it did. */
export async function rollBack(account: Account, configs: WorkerConfigs): Promise<readonly string[]> {
  const histories = new Map<WorkerKind, History>();
  const read = WORKERS.map(async (worker) => {
    const config = configs[worker];
    if (config) histories.set(worker, await historyOf(account, config));
  });
  await Promise.all(read);
  const { tag, commit } = previousDeploy(histories);
  const steps = ORDER_BACK.flatMap((worker) => {
    const history = histories.get(worker);
    const target = history?.versions.find((version) => tagIn(version) === tag);
    return history && target ? [{ worker, ...history, target }] : [];
  });
  for (const { worker, versions, target } of steps) {
    const newer = versions.slice(0, versions.indexOf(target));
    if (!newer.some(isSecretChange)) continue;
    throw new UserError(
      `secrets of the ${worker} have changed since the deploy of ${tag}, and a rollback would bring the old ones back. ` +
        `Deploy the older code with the secrets of today instead: git switch --detach ${commit.split(' ', 1)}, npm ci, npm run deploy`,
    );
  }
  const lines: string[] = [];
  for (const { worker, config, ran, target } of steps) {
    if (ran[0] === target) continue;
    const deployment = {
      strategy: 'percentage',
      versions: [{ version_id: target.id, percentage: 100 }],
      annotations: { 'workers/message': `back to ${tag}` },
    };
    await account.send('POST', `/workers/scripts/${config.name}/deployments`, deployment).catch((error: Error) => {
      throw new UserError([...lines, `the ${worker} could not be taken back: ${error.message}`].join('\n'));
    });
    lines.push(`the ${worker} is that of ${tag} (${commit})`);
  }
  return lines;
}

async function historyOf(account: Account, config: WorkerConfig): Promise<History> {
  const script = `/workers/scripts/${config.name}`;
  const [{ items: versions = [] } = {}, { deployments = [] } = {}] = await Promise.all([
    account.get<{ items: Version[] }>(`${script}/versions?deployable=true`),
    account.get<{ deployments: Deployment[] }>(`${script}/deployments`),
  ]);
  const newestFirst = versions.sort((a, b) => b.metadata.created_on.localeCompare(a.metadata.created_on));
  const lastFirst = deployments.sort((a, b) => b.created_on.localeCompare(a.created_on));
  if (lastFirst[0] && lastFirst[0].versions.length > 1) {
    throw new UserError(
      `${config.path} has several versions deployed at once: choose the one to go back to yourself, with ` +
        `npx wrangler versions deploy ${wranglerFlags(config)}`,
    );
  }
  const ran = lastFirst.flatMap((deployment) => {
    const [{ version_id: id } = { version_id: '' }] = deployment.versions;
    return newestFirst.find((version) => version.id === id) ?? [];
  });
  return { config, versions: newestFirst, ran };
}

/** The last deploy that receiver and consumer both had, and that is older than what runs of any Worker. */
function previousDeploy(histories: ReadonlyMap<WorkerKind, History>): { tag: string; commit: string } {
  // A changed secret is a version of its own, with the code of the one before it.
  const running = Array.from(histories.values(), ({ ran }) => tagIn(ran.find((version) => !isSecretChange(version))));
  const newest = running.reduce((a = '', b = '') => (a > b ? a : b)) ?? '';
  const consumers = histories.get('consumer')?.ran ?? [];
  const found = histories.get('receiver')?.ran.find((version) => {
    const tag = tagIn(version);
    return tag !== undefined && tag < newest && consumers.some((other) => tagIn(other) === tag);
  });
  if (found) return { tag: tagIn(found) ?? '', commit: found.annotations?.['workers/message'] ?? '' };
  throw new UserError(
    `Cloudflare has no version of receiver and consumer from a deploy before ${newest || 'this one'}: deploy the older code instead`,
  );
}

/** The tag of `npm run deploy`, and no other. */
function tagIn(version: Version | undefined): string | undefined {
  const tag = version?.annotations?.['workers/tag'];
  return tag !== undefined && TAG.test(tag) ? tag : undefined;
}

function isSecretChange({ annotations }: Version): boolean {
  return annotations?.['workers/triggered_by'] === 'secret';
}

/** What the deploys would refuse only halfway: secrets and queues that are missing. One sentence each. */
export async function missingAtCloudflare(account: Account, configs: WorkerConfigs): Promise<readonly string[]> {
  const env = configs.receiver.environment;
  const setup = `npm run setup${env && ` -- --env ${env}`}`;
  const secrets = WORKERS.map(async (worker): Promise<readonly string[]> => {
    const config = configs[worker];
    if (!config) return [];
    const present = await account.get<{ name: string }[]>(`/workers/scripts/${config.name}/secrets`);
    if (!present) return [`there is no Worker ${config.name} yet: ${setup} creates it`];
    return config.secrets
      .filter((name) => !present.some((one) => one.name === name))
      .map((name) => `the ${worker} has no ${name}: npx wrangler secret put ${name} ${wranglerFlags(config)}`);
  });
  const queues = [...new Set([...configs.consumer.consumes, ...Object.values(configs.receiver.produces)])];
  const missing = queues.map(async (queue = '') => {
    const found = await account.get<unknown[]>(`/queues?${new URLSearchParams({ name: queue })}`);
    return found?.length ? [] : [`there is no queue ${queue}: ${setup} creates it`];
  });
  return (await Promise.all([...secrets, ...missing])).flat();
}
