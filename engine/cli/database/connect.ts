import pg from 'pg';
import { DEV_VARS, databaseUrlOf, isLocal, requireVar } from '../config/dev-vars.ts';
import { readConfigs } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';

/**
 * Before PostgreSQL 15, every role could create tables and functions in the schema `public`, even the role of the
 * Worker that strangers reach. The tests pass on 15, 17 and 18.
 */
const OLDEST_POSTGRES = 15;

/** Chooses the database of a command: DATABASE_URL from the shell, or otherwise from `.dev.vars`. Prints which one. */
export function chosenDatabase(say: (text: string) => void = console.log): URL {
  const url = databaseUrlOf(requireVar('DATABASE_URL'));
  const from = process.env.DATABASE_URL ? 'the environment' : `${DEV_VARS}, because the environment has none`;
  say(`${describeDatabase(url)} (DATABASE_URL is from ${from})`);
  return url;
}

/** Describes a database without its password. */
export function describeDatabase({ host, pathname }: URL): string {
  return `the database ${decodeURIComponent(pathname.slice(1))} on ${host}`;
}

/** Connects over TCP. The error is one line that says why it failed. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new UserError(`${describeDatabase(new URL(databaseUrl))} could not be reached: ${hint(error)}`);
  }
}

interface Lock {
  /** Any number, if all machines use the same one. */
  readonly key: number;
  readonly of: string;
  readonly wait: string;
}

/** A migration on another machine takes seconds, but any role can hold this lock for longer. */
export const MIGRATING: Lock = { key: 20_260_101, of: 'migrations', wait: '60s' };

/**
 * Held during all of setup or deploy. Two concurrent runs would leave Workers of two versions, and roles with two
 * passwords.
 */
export const DEPLOYING: Lock = { key: 20_261_101, of: 'setup and deploy', wait: '1s' };

/** Runs work as the owner of the tables, and waits for other machines that hold the same lock. */
export async function asOwner<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
  lock = MIGRATING,
): Promise<Result> {
  const client = await connect(directUrl(databaseUrl));
  let hasEnded = false;
  client.on('error', () => (hasEnded = true));
  try {
    await takeLock(client, lock);
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`);
    assertNewEnough(rows[0]?.version ?? '');
    return await work(client);
  } catch (error) {
    if (hasCode(error, '57P01') || (hasEnded && !(error instanceof UserError))) {
      throw new UserError('the database has ended the session: run this again');
    }
    if (!hasCode(error, '42501')) throw error;
    throw new UserError('the role in DATABASE_URL may not do this: use the URL of the role that owns the tables');
  } finally {
    // Ending the session also releases the lock.
    await client.end();
  }
}

/** SQLSTATE lock_not_available: `lock_timeout` has passed. */
export const LOCK_NOT_AVAILABLE = '55P03';

async function takeLock(client: pg.Client, { key, of, wait }: Lock): Promise<void> {
  await client.query(`set lock_timeout = '${wait}'`);
  try {
    await client.query('select pg_advisory_lock($1)', [key]);
  } catch (error) {
    if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    const holder = await holderOf(client, `locktype = 'advisory' and (classid, objid) = (0, ${key})`);
    throw new UserError(`gave up after ${wait}, because the lock of ${of} is held by another session: ${holder}`);
  }
}

/** Describes the session that has held such a lock for the longest time, and how to end it. */
export async function holderOf(client: pg.Client, lock: string): Promise<string> {
  const { rows } = await client.query<{ pid: number; usename: string; application_name: string }>(
    `select pid, usename, application_name from pg_locks join pg_stat_activity using (pid)
     where granted and pid <> pg_backend_pid() and datname = current_database() and ${lock}
     order by xact_start limit 1`,
  );
  const [holder] = rows;
  if (!holder) return 'a session that has ended by now, so run this again';
  const { pid, usename, application_name: name } = holder;
  return `process ${pid} of the role ${usename}${name && `, ${name}`}. To end it: select pg_terminate_backend(${pid})`;
}

/**
 * Checks that a database belongs to this environment, and returns the Workers that have got the URL of their role.
 * Setup records both in a comment on the schema. A Neon branch is a copy with another host, so it doesn't belong to an
 * environment yet.
 */
export async function ownerOf(client: pg.Client, { hostname }: URL, receiver: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ comment: string | null }>(
    `select obj_description(to_regnamespace('webhooks'), 'pg_namespace') as comment`,
  );
  const [, name, host, workers = ''] = /^(\S+) at (\S+): (.*)$/.exec(rows[0]?.comment ?? '') ?? [];
  if (host !== direct(hostname)) return [];
  if (name === receiver) return workers.split(' ');
  throw new UserError(
    `this database belongs to ${name}, and two environments must not share one. Choose the right environment with --env, or give ${receiver} its own database or Neon branch`,
  );
}

export async function noteOwner(
  client: pg.Client,
  { hostname }: URL,
  receiver: string,
  workers: readonly string[],
): Promise<void> {
  const comment = `${receiver} at ${direct(hostname)}: ${workers.join(' ')}`;
  await client.query(`comment on schema webhooks is ${pg.escapeLiteral(comment)}`);
}

/** Refuses the database of another environment, for commands with `--env`. A local database belongs to none. */
export async function assertDatabaseOf(url: URL, environment: string): Promise<void> {
  if (isLocal(url)) return;
  const { receiver } = readConfigs(environment);
  const client = await connect(url.href);
  await ownerOf(client, url, receiver.name).finally(() => client.end());
}

/** `version` is the server's own text, for example `17.10 (Debian 17.10-1)`. */
export function assertNewEnough(version: string): void {
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return;
  throw new UserError(`the database is PostgreSQL ${version}: use ${OLDEST_POSTGRES} or newer`);
}

/** Bypasses Neon's pooler (PgBouncer), because a session lock needs a session. */
function directUrl(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.hostname = direct(url.hostname);
  return url.href;
}

export function direct(hostname: string): string {
  return hostname.replace(/^([^.]+)-pooler\./, '$1.');
}

function hint(error: unknown): string {
  const code = codeOf(error);
  if (code === '28P01') return 'the role or password in DATABASE_URL is wrong (for local data: npm run dev -- --fresh)';
  if (code === '3D000') return 'it does not exist';
  if (code === 'ECONNREFUSED') return 'no server listens there; for local data start npm run dev or npm run db first';
  return `check DATABASE_URL and the network (${code ?? 'no answer'})`;
}

/** Whether an error, or its cause, has this code. Drizzle wraps Postgres's errors. */
export function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code || codeOf(Reflect.get(Object(error), 'cause')) === code;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
}
