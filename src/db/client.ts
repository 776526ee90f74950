import { neon, neonConfig } from '@neondatabase/serverless';
import type { SQL } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { drizzle, type NeonHttpDatabase } from 'drizzle-orm/neon-http';
import { DatabaseError } from './errors.ts';

export type Database = NeonHttpDatabase;
/** A Drizzle statement that has not run yet: a query builder, or `db.execute(sql…)`. */
export type Statement = BatchItem<'pg'>;

/** Longer than Neon needs to wake a sleeping compute, shorter than the patience of a queue consumer. */
const QUERY_TIMEOUT_MS = 10_000;

// Only a loopback host is answered by the local stand-in, so nothing local can reach production;
// for every other host the driver's own rule stays as it is.
const neonEndpoint = neonConfig.fetchEndpoint;
neonConfig.fetchEndpoint = (host, port, options) =>
  ['localhost', '127.0.0.1'].includes(host)
    ? `http://${host}:${port}/sql`
    : typeof neonEndpoint === 'string'
      ? neonEndpoint
      : neonEndpoint(host, port, options);
neonConfig.fetchFunction = (url: string, init: RequestInit) =>
  fetch(url, { ...init, signal: init.signal ?? AbortSignal.timeout(QUERY_TIMEOUT_MS) });

/** `signal` bounds every query made through this handle. */
export function openDatabase(url: string | undefined, signal?: AbortSignal): Database {
  // The driver would throw only at the first query, and with the whole URL, password included, in its message.
  if (!isPostgresUrl(url)) {
    throw new DatabaseError('DATABASE_URL is not set to a postgres:// URL', { retryable: false });
  }
  return drizzle(neon(url, { fetchOptions: signal ? { signal } : {} }));
}

/** Every statement of ours leaves through here, so that no error carries a bound parameter past this door. */
export async function run<Row extends Record<string, unknown>>(db: Database, statement: SQL): Promise<Row[]> {
  try {
    return (await db.execute<Row>(statement)).rows;
  } catch (error) {
    throw DatabaseError.from(error);
  }
}

/** One request, one transaction, no statement in between. */
export async function commit(db: Database, statements: readonly [Statement, ...Statement[]]): Promise<void> {
  try {
    await db.batch(statements);
  } catch (error) {
    throw DatabaseError.from(error);
  }
}

function isPostgresUrl(url: string | undefined): url is string {
  return url !== undefined && URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol);
}
