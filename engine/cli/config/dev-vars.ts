import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Source } from '../../src/kit/index.ts';
import { secretName, verifyTokenName } from '../../src/receiver/secrets.ts';
import { isLoopback } from '../../src/shared/loopback.ts';
import { MIN_TENANTS_KEY } from '../../src/shared/tenants.ts';
import { freePort, LOOPBACK } from '../lib/port.ts';
import { UserError } from '../lib/user-error.ts';
import { randomPassword } from '../local/postgres.ts';
import { madeUpKeys } from '../samples/sign.ts';
import { judgeSecret, TENANTS_KEY } from './secret-form.ts';
import { randomSecrets, type WorkerConfig } from './worker-config.ts';

export const DEV_VARS = '.dev.vars';

const HEADER = `# Local secrets, made by npm run dev. Never committed, never deployed.
# npm run dev replaces every URL in [vars] of the wrangler files, and every secret whose name ends in _URL, with a local stand-in,
# unless a line here has its name.
# DATABASE_URL is for you and for migrations, as the owner of the tables. npm run dev gives each Worker its own role.
`;

export interface EnsuredDevVars {
  readonly vars: Record<string, string>;
  /** The names that were missing. */
  readonly added: readonly string[];
}

/** Reads `.dev.vars` and adds missing secrets, for example of a new source or effect. */
export async function ensureDevVars(
  sources: Readonly<Record<string, Source>>,
  workers: readonly Pick<WorkerConfig, 'secrets'>[],
): Promise<EnsuredDevVars> {
  if (!existsSync(DEV_VARS)) writeFileSync(DEV_VARS, HEADER, { mode: 0o600 });
  const present = readDevVars();
  const wanted: Record<string, string> = {
    DATABASE_URL: await localDatabaseUrl(),
    ...Object.assign({}, ...workers.map(randomSecrets)),
    ...madeUpSecrets(sources),
  };
  const missing = Object.entries(wanted).filter(
    // If the file has a provider's real public key, a random private key would not fit it.
    ([name]) => !present[name] && !present[name.replace(/_SIGNING_KEY$/, '_SECRET')],
  );
  // The last line may have no newline.
  const newline = /[^\n]$/.test(readFileSync(DEV_VARS, 'utf8')) ? '\n' : '';
  const lines = missing.map(([name, value]) => `${name}="${value}"\n`);
  if (missing.length > 0) appendFileSync(DEV_VARS, newline + lines.join(''));
  return { vars: readDevVars(), added: missing.map(([name]) => name) };
}

export function readDevVars(): Record<string, string> {
  if (!existsSync(DEV_VARS)) return {};
  const entries = Object.entries(parseEnv(readFileSync(DEV_VARS, 'utf8')));
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']));
}

/** Describes wrong or suspicious secrets in `.dev.vars`: those of sources, and those that are URLs. */
export async function problemsInDevVars(sources: Readonly<Record<string, Source>>): Promise<string[]> {
  const vars = readDevVars();
  const found: string[] = [];
  for (const [name, value] of Object.entries(vars)) {
    const source = Object.keys(sources).find((one) => [secretName(one), `${secretName(one)}_PREVIOUS`].includes(name));
    const isOurs = source !== undefined || name.endsWith('_URL') || name.startsWith(TENANTS_KEY);
    const finding = isOurs && value !== '' && (await judgeSecret(name, value, sources[source ?? '']?.provider));
    if (finding && finding.outcome !== 'fine') found.push(`in ${DEV_VARS}, ${finding.sentence}`);
  }
  return found;
}

/** Reads a variable from the shell, or otherwise from `.dev.vars`. */
export function requireVar(name: string, vars = readDevVars()): string {
  const value = process.env[name] ?? vars[name];
  if (!value)
    throw new UserError(`${name} is not set, neither in the environment nor in ${DEV_VARS} (npm run dev makes it)`);
  return value;
}

/** Chooses a free port, which this checkout keeps, so that two checkouts can run side by side. */
async function localDatabaseUrl(): Promise<string> {
  return `postgres://claimcheck:${randomPassword()}@${LOOPBACK}:${await freePort()}/claimcheck`;
}

/** Random secrets in the provider's format, and the other values that each source needs. */
export function madeUpSecrets(named: Readonly<Record<string, Source>>): Record<string, string> {
  const tenantsKey = Object.values(named).some(({ tenants }) => tenants) ? { [TENANTS_KEY]: madeUpTenantsKey() } : {};
  return Object.assign(tenantsKey, ...Object.entries(named).map(([name, source]) => madeUpFor(name, source)));
}

export function madeUpTenantsKey(): string {
  return randomBytes(MIN_TENANTS_KEY).toString('hex');
}

function madeUpFor(name: string, { provider }: Source): Record<string, string> {
  const { secret, signingKey } = madeUpKeys(provider);
  return {
    [secretName(name)]: secret,
    ...(signingKey === secret ? {} : { [signingKeyName(name)]: signingKey }),
    ...(provider.handshakes?.some(({ verifyToken }) => verifyToken)
      ? { [verifyTokenName(name)]: randomBytes(16).toString('hex') }
      : {}),
  };
}

/** The name of the private key that signs samples, if the provider has a key pair. It never leaves this machine. */
export function signingKeyName(source: string): string {
  return secretName(source).replace(/_SECRET$/, '_SIGNING_KEY');
}

/** Parses the database's URL. The error doesn't repeat the value, because it contains a password. */
export function databaseUrlOf(value: string | undefined): URL {
  const url = value && URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) throw new UserError('DATABASE_URL is not a postgres:// URL');
  return url;
}

export function isLocal(url: URL): boolean {
  return isLoopback(url.hostname);
}

/** The database for commands that start one. They never use a remote database. */
export function ownDatabase(value: string | undefined): URL {
  const url = databaseUrlOf(value);
  if (isLocal(url)) return url;
  throw new UserError(
    `the DATABASE_URL in ${DEV_VARS} is not on ${LOOPBACK}: this command starts a database of its own, and never uses another`,
  );
}
