import pg from 'pg';
import { DEV_VARS, databaseUrlOf, requireVar } from '../config/dev-vars.ts';
import { UserError } from '../lib/user-error.ts';

/** Any number works, if all machines that migrate use the same one. */
const LOCK = 20_260_101;

/** For a command that works on a database: the one in the shell's DATABASE_URL, or else in `.dev.vars`. It says which. */
export function chosenDatabase(say: (text: string) => void = console.log): URL {
  const url = databaseUrlOf(requireVar('DATABASE_URL'));
  const from = process.env.DATABASE_URL ? 'the environment' : `${DEV_VARS}, because the environment has none`;
  say(`${describeDatabase(url)} (DATABASE_URL is from ${from})`);
  return url;
}

/** Without the password. */
export function describeDatabase({ host, pathname }: URL): string {
  return `the database ${decodeURIComponent(pathname.slice(1))} on ${host}`;
}

/** A connection over TCP, or one line that says why there is none. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new UserError(`${describeDatabase(new URL(databaseUrl))} could not be reached: ${hint(error)}`);
  }
}

/** Works as the owner of the tables. A second machine that does so at the same time waits for the first. */
export async function asOwner<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(directUrl(databaseUrl));
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    return await work(client);
  } catch (error) {
    if (!hasCode(error, '42501')) throw error;
    throw new UserError('the role in DATABASE_URL may not do this: use the URL of the role that owns the tables');
  } finally {
    // The end of the session also releases the lock.
    await client.end();
  }
}

/** A session lock needs a session: behind Neon's pooler (PgBouncer) there is none. */
function directUrl(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.hostname = url.hostname.replace(/^([^.]+)-pooler\./, '$1.');
  return url.href;
}

function hint(error: unknown): string {
  const code = codeOf(error);
  if (code === '28P01') return 'the role or password in DATABASE_URL is wrong (for local data: npm run dev -- --fresh)';
  if (code === '3D000') return 'it does not exist';
  if (code === 'ECONNREFUSED') return 'no server listens there; for local data start npm run dev or npm run db first';
  return `check DATABASE_URL and the network (${code ?? 'no answer'})`;
}

/** Drizzle's errors have Postgres's as their cause. */
export function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code || codeOf(Reflect.get(Object(error), 'cause')) === code;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
}
