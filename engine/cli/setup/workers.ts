import { randomBytes } from 'node:crypto';
import type { Source } from '../../src/kit/index.ts';
import { secretName, verifyTokenName } from '../../src/receiver/secrets.ts';
import { type Account, ApiError, changeSecrets, PERMISSIONS, TOKENS_PAGE } from '../cloudflare/api.ts';
import { deployWorker, type Release } from '../cloudflare/deploys.ts';
import { withSecretsFile } from '../cloudflare/wrangler.ts';
import { madeUpSecrets, madeUpTenantsKey, signingKeyName } from '../config/dev-vars.ts';
import { judgeSecret, TENANTS_KEY } from '../config/secret-form.ts';
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
  const keys: Record<string, string> = {};
  const madeUp: string[] = [];
  const missing: string[] = [];
  const sourceOf = new Map(Object.keys(sources).map((source) => [secretName(source), source]));
  for (const config of listed(configs)) {
    const own: Record<string, string> = {};
    values[config.name] = own;
    for (const name of config.secrets) {
      const source = config === receiver ? sourceOf.get(name) : undefined;
      const { provider } = sources[source ?? ''] ?? {};
      const judge = async (value: string, where = '') => {
        const finding = await judgeSecret(name, value, provider);
        if (finding.outcome === 'wrong') throw new UserError(where + finding.sentence);
        if (finding.outcome === 'suspicious') terminal.note(finding.sentence);
        // A key pair's private half is only in the environment: npm run try-live makes it up.
        if (source !== undefined) keys[source] = process.env[signingKeyName(source)] || value;
      };
      const given = process.env[name];
      if (given) await judge(given, 'in the environment, ');
      if (name === 'DATABASE_URL' || workers[config.name]?.secrets.includes(name)) continue;
      // Receiver and ops need the same one. What one of them has can't be read again.
      const isNewKey =
        name === TENANTS_KEY && !listed(configs).some((one) => workers[one.name]?.secrets.includes(name));
      const ofOther = isNewKey ? values[receiver.name]?.[name] : undefined;
      if (given) own[name] = given;
      else if (ofOther) own[name] = ofOther;
      // One that is made up must be shown, and with --yes nobody may be there to see it.
      else if (!terminal.isAsking) missing.push(name);
      else {
        if (provider) console.log(`\n${source}: register ${address}/${source} there. ${pageOf(provider)}`.trimEnd());
        const hint = provider || isNewKey ? 'not shown; Enter makes one up' : 'not shown';
        const answer = await askUntilRight(terminal, `${name} of ${config.path} (what you type is ${hint})`, judge);
        if (answer) own[name] = answer;
        else if (isNewKey) {
          own[name] = madeUpTenantsKey();
          madeUp.push(name);
        } else if (source === undefined) {
          throw new UserError(`${config.path} requires ${name}: set it in the environment, and run this again`);
        } else {
          const made = madeUpSecrets({ [source]: sources[source] as Source });
          keys[source] = made[signingKeyName(source)] ?? made[name] ?? '';
          for (const one of [name, verifyTokenName(source)]) {
            if (made[one]) own[one] = made[one];
            if (made[one]) madeUp.push(one);
          }
        }
      }
    }
  }
  if (missing.length > 0) throw new UserError(`missing in the environment: ${[...new Set(missing)].join(', ')}`);
  if (ops && !ops.vars.ACCESS_AUD && !workers[ops.name]?.secrets.includes('OPS_TOKEN')) {
    // With --yes nobody would see it.
    const token = process.env.OPS_TOKEN || (terminal.isAsking ? randomBytes(32).toString('hex') : '');
    if (token) Object.assign(values[ops.name] ?? {}, { OPS_TOKEN: token });
    if (token && !process.env.OPS_TOKEN) madeUp.push('OPS_TOKEN');
  }
  return { values, keys, madeUp };
}

/** The empty answer is one, too. */
async function askUntilRight(
  terminal: Terminal,
  question: string,
  judge: (value: string) => Promise<void>,
): Promise<string> {
  for (;;) {
    const answer = await terminal.askHidden(question);
    try {
      if (answer) await judge(answer);
      return answer;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      terminal.note(error.message);
    }
  }
}

interface EnsureOptions {
  readonly isDeployed: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  /** An account that refuses its cron is no failure. */
  readonly mayLackCron: boolean;
}

/** What wrangler says if a Worker is deployed, and only its cron is not. */
const ONLY_CRON =
  /only partially updated: Cron schedules:(?!.* (Queue consumers|Routes|Custom domains|workers\.dev):)/i;

/** Deploys a Worker with its secrets. One that was deployed whole only gets those that it lacks. */
export async function ensureWorker(
  account: Account,
  config: WorkerConfig,
  release: Release,
  { isDeployed, secrets, mayLackCron }: EnsureOptions,
): Promise<'ok' | 'deployed' | 'without cron' | 'secrets'> {
  if (isDeployed && Object.keys(secrets).length === 0) return 'ok';
  if (isDeployed) {
    await changeSecrets(account, config, secrets);
    return 'secrets';
  }
  const { isDone, problem } = await withSecretsFile(secrets, (file) =>
    deployWorker(config, release, { secrets: file }),
  );
  if (isDone) return 'deployed';
  if (mayLackCron && ONLY_CRON.test(problem)) return 'without cron';
  const remedy = /code: 10000\]/.test(problem) ? `A token needs ${PERMISSIONS} (${TOKENS_PAGE})` : 'Run this again';
  throw new ApiError(`${config.name} was not deployed: ${problem}`, remedy, 0);
}
