import { randomBytes } from 'node:crypto';
import type { Source } from '../../src/kit/index.ts';
import { secretName, verifyTokenName } from '../../src/receiver/secrets.ts';
import { PERMISSIONS, TOKENS_PAGE } from '../cloudflare/api.ts';
import { deployWorker, type Release } from '../cloudflare/deploys.ts';
import { runWrangler, withSecretsFile } from '../cloudflare/wrangler.ts';
import { madeUpSecrets } from '../config/dev-vars.ts';
import { listed, type WorkerConfig, type WorkerConfigs } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import type { Existing } from './account.ts';
import type { Terminal } from './terminal.ts';

export interface Secrets {
  /** By the Worker's name. */
  readonly values: Readonly<Record<string, Record<string, string>>>;
  /** What each source's sender signs with, as far as it is known. */
  readonly keys: Readonly<Record<string, string>>;
  /** Sources whose secret was made up. */
  readonly madeUp: readonly string[];
  readonly opsToken: string | undefined;
}

/** Asks for each secret that a Worker requires and hasn't, but for the database's. Nothing is stored before the deploy. */
export async function askForSecrets(
  configs: WorkerConfigs,
  sources: Readonly<Record<string, Source>>,
  { workers }: Existing,
  terminal: Terminal,
  address: string,
): Promise<Secrets> {
  const { receiver, ops } = configs;
  const values: Record<string, Record<string, string>> = {};
  const keys: Record<string, string> = {};
  const madeUp: string[] = [];
  let opsToken: string | undefined;
  const bySecret = new Map(Object.keys(sources).map((source) => [secretName(source), source]));
  for (const config of listed(configs)) {
    const has = new Set(workers[config.name]?.secrets);
    const own: Record<string, string> = {};
    values[config.name] = own;
    for (const name of config.secrets) {
      const source = config === receiver ? bySecret.get(name) : undefined;
      const given = process.env[name];
      if (source !== undefined && given) keys[source] = given;
      if (name === 'DATABASE_URL' || has.has(name)) continue;
      if (given) own[name] = given;
      else if (source !== undefined) {
        const provider = sources[source]?.provider;
        if (terminal.isAsking) console.log(`\n${source}: register ${address}/${source} there (${provider?.docs})`);
        const answer = await terminal.askHidden(
          `the secret of ${source} (what you type is not shown; Enter makes one up)`,
        );
        Object.assign(own, answer ? { [name]: answer } : madeUpFor(source, sources, keys));
        if (answer) keys[source] = answer;
        else madeUp.push(source);
        // The only time that anybody sees it. With --yes nobody does, and it is to be replaced.
        if (!answer && terminal.isAsking) console.log(`made up, enter it at the sender: ${own[name]}`);
      } else {
        const answer = await terminal.askHidden(`${name} of ${config.path} (not shown)`);
        if (!answer)
          throw new UserError(`${config.path} requires ${name}: set it in the environment, and run this again`);
        own[name] = answer;
      }
    }
    if (config === ops && !ops.vars.ACCESS_AUD && !has.has('OPS_TOKEN')) {
      opsToken = process.env.OPS_TOKEN || (terminal.isAsking ? randomBytes(32).toString('hex') : undefined);
      if (opsToken) own.OPS_TOKEN = opsToken;
    }
  }
  return { values, keys, madeUp, opsToken };
}

/** In the sender's own form. Whoever sends a public key, or gives out a secret, must still replace it. */
function madeUpFor(
  source: string,
  sources: Readonly<Record<string, Source>>,
  keys: Record<string, string>,
): Record<string, string> {
  const one = sources[source];
  if (!one) return {};
  const made = madeUpSecrets({ [source]: one });
  const secret = made[secretName(source)] ?? '';
  keys[source] = made[secretName(source).replace(/_SECRET$/, '_SIGNING_KEY')] ?? secret;
  const token = made[verifyTokenName(source)];
  return { [secretName(source)]: secret, ...(token ? { [verifyTokenName(source)]: token } : {}) };
}

/** Whether all that a deploy makes is there: it may have ended half-way. */
export function isDeployed({ name, secrets, raw, consumes }: WorkerConfig, { queues, workers }: Existing): boolean {
  const state = workers[name];
  if (!state) return false;
  const crons: readonly string[] = raw.triggers?.crons ?? [];
  const consumers = queues.filter(({ consumers = [] }) =>
    consumers.some(({ script, service }) => script === name || service === name),
  );
  return (
    secrets.every((secret) => state.secrets.includes(secret)) &&
    crons.every((cron) => state.crons.includes(cron)) &&
    consumes.every((queue) => consumers.some(({ queue_name }) => queue_name === queue)) &&
    state.isPublic === (raw.workers_dev ?? !(raw.route || raw.routes))
  );
}

/** Deploys a Worker with its secrets, or only gives it those that it lacks. */
export async function ensureWorker(
  config: WorkerConfig,
  release: Release,
  before: Existing,
  secrets: Readonly<Record<string, string>>,
): Promise<'ok' | 'deployed' | 'secrets'> {
  const names = Object.keys(secrets);
  const state = before.workers[config.name];
  const workers = { [config.name]: state && { ...state, secrets: [...state.secrets, ...names] } };
  const isThere = isDeployed(config, { ...before, workers });
  if (isThere && names.length === 0) return 'ok';
  const { isDone, problem } = isThere
    ? await runWrangler(['secret', 'bulk'], { config, input: JSON.stringify(secrets) })
    : await withSecretsFile(secrets, (file) => deployWorker(config, release, { secrets: file }));
  if (isDone) return isThere ? 'secrets' : 'deployed';
  const remedy = /code: 10000\]/.test(problem) ? `A token needs ${PERMISSIONS} (${TOKENS_PAGE})` : 'Run this again';
  throw new UserError(`${config.name} was not deployed: ${problem}. ${remedy}`);
}
