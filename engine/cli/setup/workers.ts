import { randomBytes } from 'node:crypto';
import type { Source } from '../../src/kit/index.ts';
import { secretName, verifyTokenName } from '../../src/receiver/secrets.ts';
import { type Account, changeSecrets, PERMISSIONS, TOKENS_PAGE } from '../cloudflare/api.ts';
import { deployWorker, type Release } from '../cloudflare/deploys.ts';
import { withSecretsFile } from '../cloudflare/wrangler.ts';
import { madeUpSecrets, signingKeyName } from '../config/dev-vars.ts';
import { judgeSecret } from '../config/secret-form.ts';
import { listed, type WorkerConfig, type WorkerConfigs } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import type { Existing } from './account.ts';
import { pageOf, type Terminal } from './terminal.ts';

export interface Secrets {
  /** By the Worker's name. */
  readonly values: Readonly<Record<string, Record<string, string>>>;
  /** What each source's sender signs with, as far as it is known. */
  readonly keys: Record<string, string>;
  /** The names of those that were made up. */
  readonly madeUp: string[];
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
  const known: Pick<Secrets, 'keys' | 'madeUp'> = { keys: {}, madeUp: [] };
  const missing: string[] = [];
  const sourceOf = new Map(Object.keys(sources).map((source) => [secretName(source), source]));
  for (const config of listed(configs)) {
    const own: Record<string, string> = {};
    values[config.name] = own;
    for (const name of config.secrets) {
      const source = config === receiver ? sourceOf.get(name) : undefined;
      const given = process.env[name];
      if (source !== undefined && given) {
        known.keys[source] = given;
      }
      if (given) {
        const finding = await judgeSecret(name, given, source === undefined ? undefined : sources[source]?.provider);
        if (finding.outcome === 'wrong') throw new UserError(`in the environment, ${finding.sentence}`);
        if (finding.outcome === 'suspicious') terminal.note(finding.sentence);
      }
      if (name === 'DATABASE_URL' || workers[config.name]?.secrets.includes(name)) continue;
      if (given) own[name] = given;
      // One that is made up must be shown, and with --yes nobody may be there to see it.
      else if (!terminal.isAsking) missing.push(name);
      else if (source !== undefined) {
        Object.assign(own, await askForSource(source, sources[source], known, terminal, address));
      } else {
        const answer = await terminal.askHidden(`${name} of ${config.path} (what you type is not shown)`);
        if (!answer)
          throw new UserError(`${config.path} requires ${name}: set it in the environment, and run this again`);
        const finding = await judgeSecret(name, answer);
        if (finding.outcome === 'wrong') throw new UserError(finding.sentence);
        if (finding.outcome === 'suspicious') terminal.note(finding.sentence);
        own[name] = answer;
      }
    }
  }
  if (missing.length > 0) throw new UserError(`missing in the environment: ${missing.join(', ')}`);
  if (ops && !ops.vars.ACCESS_AUD && !workers[ops.name]?.secrets.includes('OPS_TOKEN')) {
    let token = process.env.OPS_TOKEN;
    // With --yes nobody would see it.
    if (!token && terminal.isAsking) {
      token = randomBytes(32).toString('hex');
      known.madeUp.push('OPS_TOKEN');
    }
    if (token) Object.assign(values[ops.name] ?? {}, { OPS_TOKEN: token });
  }
  return { values, ...known };
}

async function askForSource(
  name: string,
  source: Source | undefined,
  known: Pick<Secrets, 'keys' | 'madeUp'>,
  terminal: Terminal,
  address: string,
): Promise<Record<string, string>> {
  if (!source) return {};
  const { provider } = source;
  console.log(`\n${name}: register ${address}/${name} there. ${pageOf(provider)}`.trimEnd());
  for (;;) {
    const question = `the secret of ${name} (what you type is not shown; Enter makes one up)`;
    const answer = await terminal.askHidden(question);
    if (answer) {
      const finding = await judgeSecret(secretName(name), answer, provider);
      if (finding.outcome !== 'fine') console.log(finding.sentence);
      if (finding.outcome === 'wrong') continue;
      known.keys[name] = answer;
      return { [secretName(name)]: answer };
    }
    const made = madeUpSecrets({ [name]: source });
    const { [secretName(name)]: secret = '', [verifyTokenName(name)]: token } = made;
    known.keys[name] = made[signingKeyName(name)] ?? secret;
    known.madeUp.push(secretName(name), ...(token ? [verifyTokenName(name)] : []));
    return { [secretName(name)]: secret, ...(token ? { [verifyTokenName(name)]: token } : {}) };
  }
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
  account: Account,
  config: WorkerConfig,
  release: Release,
  before: Existing,
  secrets: Readonly<Record<string, string>>,
): Promise<'ok' | 'deployed' | 'secrets'> {
  const names = Object.keys(secrets);
  const state = before.workers[config.name];
  const workers = { [config.name]: state && { ...state, secrets: [...state.secrets, ...names] } };
  if (isDeployed(config, { ...before, workers })) {
    if (names.length === 0) return 'ok';
    await changeSecrets(account, config, secrets);
    return 'secrets';
  }
  const { isDone, problem } = await withSecretsFile(secrets, (file) =>
    deployWorker(config, release, { secrets: file }),
  );
  if (isDone) return 'deployed';
  const remedy = /code: 10000\]/.test(problem) ? `A token needs ${PERMISSIONS} (${TOKENS_PAGE})` : 'Run this again';
  throw new UserError(`${config.name} was not deployed: ${problem}. ${remedy}`);
}
