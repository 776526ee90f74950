import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { sources } from '../../src/app/sources.ts';
import type { Source } from '../../src/kit/index.ts';
import { secretName, verifyTokenName } from '../../src/receiver/secrets.ts';
import { CONSUMER_CONFIG, randomSecrets, readConfig, standInVars } from './config.ts';
import { madeUpKeys } from './keys.ts';
import { freePort, LOOPBACK } from './port.ts';
import { randomPassword } from './postgres.ts';
import { UserError } from './user-error.ts';

const FILE = '.dev.vars';

const HEADER = `# Local secrets and addresses, made by npm run dev, which serves what is on 127.0.0.1. Never committed, never deployed.
`;

/** Reads `.dev.vars`, and adds what is missing: a new source has its secret at the next start. */
export async function ensureDevVars(): Promise<Record<string, string>> {
  if (!existsSync(FILE)) writeFileSync(FILE, HEADER, { mode: 0o600 });
  const present = readDevVars();
  const missing = Object.entries({
    ...(await madeUpAddresses()),
    ...madeUpSecrets(sources),
    ...randomSecrets(readConfig(CONSUMER_CONFIG)),
  }).filter(
    // A public key of the provider's own has no private one here, and a made-up one would not fit it.
    ([name]) => !present[name] && !present[name.replace(/_SIGNING_KEY$/, '_SECRET')],
  );
  for (const [name, value] of missing) appendFileSync(FILE, `${name}="${value}"\n`);
  if (missing.length > 0) console.log(`${FILE}: added ${missing.map(([name]) => name).join(', ')}`);
  return { ...present, ...Object.fromEntries(missing) };
}

export function readDevVars(): Record<string, string> {
  if (!existsSync(FILE)) return {};
  const entries = Object.entries(parseEnv(readFileSync(FILE, 'utf8')));
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']));
}

/** From the shell first, as everywhere; then from `.dev.vars`. */
export function requireVar(name: string, vars = readDevVars()): string {
  const value = process.env[name] ?? vars[name];
  if (!value)
    throw new UserError(`${name} is not set, neither in the environment nor in ${FILE} (npm run dev makes it)`);
  return value;
}

/** Ports that are free now, and stay this checkout's: two checkouts run side by side. */
async function madeUpAddresses(): Promise<Record<string, string>> {
  return {
    DATABASE_URL: `postgres://claimcheck:${randomPassword()}@${LOOPBACK}:${await freePort()}/claimcheck`,
    ...standInVars(readConfig(CONSUMER_CONFIG), `http://${LOOPBACK}:${await freePort()}`),
  };
}

/** A random secret for each source, in the form its provider gives out, and what else the source needs. */
export function madeUpSecrets(named: Readonly<Record<string, Source>>): Record<string, string> {
  return Object.assign({}, ...Object.entries(named).map(([name, source]) => madeUpFor(name, source)));
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

/** Where the provider has a pair of keys, we play it with the private one. Known to this machine alone. */
export function signingKeyName(source: string): string {
  return secretName(source).replace(/_SECRET$/, '_SIGNING_KEY');
}

/** The database's URL, or one line that doesn't repeat what stands there: it holds a password. */
export function databaseUrlOf(value: string | undefined): URL {
  const url = value && URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) throw new UserError('DATABASE_URL is not a postgres:// URL');
  return url;
}

export function isLocal(url: URL): boolean {
  return [LOOPBACK, 'localhost'].includes(url.hostname);
}
