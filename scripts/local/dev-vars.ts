import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { sources } from '../../src/app/sources.ts';
import type { Provider } from '../../src/providers/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
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
  const missing = Object.entries({ ...(await madeUpAddresses()), ...madeUpSecrets() }).filter(
    ([name]) => !present[name],
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
  const outside = `http://${LOOPBACK}:${await freePort()}`;
  return {
    DATABASE_URL: `postgres://claimcheck:${randomPassword()}@${LOOPBACK}:${await freePort()}/claimcheck`,
    RECEIPTS_URL: outside,
    GITHUB_API_URL: outside,
  };
}

/** A random secret for each source, in the form its provider gives out. */
export function madeUpSecrets(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sources).map(([name, { provider }]) => [secretName(name), madeUpSecret(provider)]),
  );
}

function madeUpSecret({ scheme }: Provider): string {
  return `${scheme.keyPrefix ?? ''}${randomBytes(32).toString(scheme.key === 'base64' ? 'base64' : 'hex')}`;
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
