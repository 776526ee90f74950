import {
  type HTTPQueryOptions,
  type NeonQueryFunction,
  NeonQueryPromise,
  neon,
  neonConfig,
} from '@neondatabase/serverless';
import type { SQL } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { drizzle, type NeonHttpDatabase } from 'drizzle-orm/neon-http';
import { DatabaseError, TRANSACTION_CONTROL_REFUSED } from './errors.ts';
import { controlsTransaction, queryOf } from './statement.ts';

export type Database = NeonHttpDatabase & { readonly $client: NeonQueryFunction<false, false> };
/** For handlers: builds statements, and reads. Postgres refuses every write through it. */
export type ReadOnlyDatabase = NeonHttpDatabase;
/** A Drizzle statement that has not run yet: a query builder, or `db.execute(sql…)`. */
export type Statement = BatchItem<'pg'>;

/** Neon wakes a sleeping compute in less than a second. A hanging request must not use up the consumer's 15 minutes. */
const QUERY_TIMEOUT_MS = 10_000;

// Only a loopback host uses the local stand-in, so local development can't reach production by accident.
// For every other host, the driver's own rule applies.
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
  return drizzle(neon(checkedUrl(url), { fetchOptions: signal ? { signal } : {} }));
}

/**
 * Every query through this handle runs in a read-only transaction of its own, so that Postgres itself refuses a write
 * that a handler awaits. The refusal of transaction control closes the way around it: `commit`, and then the write.
 */
export function openReadOnlyDatabase(url: string | undefined): ReadOnlyDatabase {
  const client = neon(checkedUrl(url), { readOnly: true });
  const { query } = client;
  const readOnly = (text: string, params: unknown[] = [], options?: HTTPQueryOptions<false, false>) => {
    if (controlsTransaction(text)) {
      throw new DatabaseError('a statement that controls the transaction was not sent', {
        retryable: false,
        code: TRANSACTION_CONTROL_REFUSED,
      });
    }
    // Neon knows read-only only for batches: this is a batch of one.
    const alone = async () => (await client.transaction([query(text, params, options)]))[0];
    return new NeonQueryPromise(alone, { query: text, params }, options);
  };
  return drizzle(Object.assign(client, { query: readOnly as typeof query }));
}

/** The driver would throw only at the first query, and with the whole URL, password included, in its message. */
function checkedUrl(url: string | undefined): string {
  if (url !== undefined && URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol)) return url;
  throw new DatabaseError('DATABASE_URL is not set to a postgres:// URL', { retryable: false });
}

/** Runs one statement of ours. Its errors are reduced here, because the driver's contain the values of parameters. */
export async function run<Row extends Record<string, unknown>>(db: Database, statement: SQL): Promise<Row[]> {
  try {
    return (await db.execute<Row>(statement)).rows;
  } catch (error) {
    throw DatabaseError.from(error);
  }
}

/**
 * One request, one transaction, no statement in between. Statements that were built with a read-only handle are sent
 * read-write here. Returned rows are not read, so that nothing can fail after the commit.
 */
export async function commit(db: Database, statements: readonly [Statement, ...Statement[]]): Promise<void> {
  try {
    const queries = statements.map((statement) => {
      const query = queryOf(statement);
      if (query === undefined) throw new TypeError('not a statement');
      return db.$client.query(query.sql, [...query.params]);
    });
    await db.$client.transaction(queries);
  } catch (error) {
    throw DatabaseError.from(error);
  }
}
