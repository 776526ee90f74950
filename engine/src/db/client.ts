import { type HTTPQueryOptions, type NeonQueryFunction, neon, neonConfig, types } from '@neondatabase/serverless';
import type { SQL } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { isLoopback } from '../shared/loopback.ts';
import { memoize } from '../shared/memoize.ts';
import { DatabaseError, NotRunning } from './errors.ts';
import { type Query, textOf } from './sql.ts';

/**
 * Postgres over Neon's HTTP interface, with Neon's own driver (decision 006). Handlers get Drizzle on it
 * (user-statement.ts).
 */
export interface Database {
  readonly neon: NeonQueryFunction<false, false>;
  readonly options: HTTPQueryOptions<false, false>;
}

/** A Drizzle statement that has not run yet: a query builder or `db.execute(sql…)`. */
export type Statement = BatchItem<'pg'>;

/**
 * Neon wakes a sleeping compute in less than a second. A hanging request must not take up the consumer's 15 minutes.
 */
const QUERY_TIMEOUT_MS = 10_000;

/**
 * Only a loopback host uses the local endpoint, so that local development can't reach production by accident. Any other
 * host is Neon's, whose HTTP interface is at the neighbouring name `api.…`.
 */
neonConfig.fetchEndpoint = (host, port) =>
  isLoopback(host) ? `http://${host}:${port}/sql` : `https://${host.replace(/^[^.]+\./, 'api.')}/sql`;

/**
 * Reads and checks the whole answer, so that the driver sees a lost connection, or an answer that is not Neon's, as an
 * error of `fetch`.
 */
neonConfig.fetchFunction = async (url: string, init: RequestInit) => {
  const signal = init.signal === undefined ? AbortSignal.timeout(QUERY_TIMEOUT_MS) : init.signal;
  const response = await fetch(url, { ...init, signal }).catch((error: Error) => {
    const isRefusedHere = !/Timeout|Abort/.test(error.name) && isLoopback(URL.parse(url)?.hostname);
    throw isRefusedHere ? new NotRunning() : error;
  });
  const { ok, status } = response;
  const text = await response.text();
  const json = ok || status === 400 ? JSON.parse(text) : undefined;
  const isAnswer = ok
    ? Array.isArray(json?.rows ?? json?.results)
    : status !== 400 || typeof json?.message === 'string';
  if (!isAnswer) throw new SyntaxError('the answer is not from Neon');
  return { ok, status, text: async () => text, json: async () => json };
};

const asText = (text: string | Buffer) => text;

/**
 * Opening a handler's handle changes the driver's time parsers for the whole isolate. The engine needs times as texts.
 */
const PARSERS = {
  getTypeParser: (oid: number) => (oid === types.builtins.TIMESTAMPTZ ? asText : types.getTypeParser(oid)),
} as NonNullable<HTTPQueryOptions<false, false>['types']>;

/** One entry, because a Worker has one DATABASE_URL (two while a test changes it). */
const opened = memoize((url: string | undefined) => neon(checkedUrl(url)));

/**
 * What ends a query: 10 s for each query, one signal for all queries of a handle, or `none` if the caller limits its
 * own waiting.
 */
type TimeLimit = 'each query' | AbortSignal | 'none';

export function openDatabase(url: string | undefined, limit: TimeLimit = 'each query'): Database {
  const fetchOptions = limit === 'each query' ? {} : { signal: limit === 'none' ? null : limit };
  return { neon: opened(url), options: { types: PARSERS, fetchOptions } };
}

/**
 * Checked here because the driver throws only at the first query, with the whole URL including the password in its
 * message.
 */
export function checkedUrl(url: string | undefined): string {
  const { protocol = '', username, hostname, pathname = '' } = URL.parse(url ?? '') ?? {};
  if (url && /^postgres(ql)?:$/.test(protocol) && username && hostname && pathname.length > 1) return url;
  throw new DatabaseError('DATABASE_URL is not set to a postgres:// URL of a role and a database', {
    retryable: false,
  });
}

/** Runs one statement of the engine. `Row` is the type of its rows. */
export async function run<Row extends object>(db: Database, statement: SQL | Query): Promise<Row[]> {
  const { sql, params } = queryIn(statement);
  try {
    return (await db.neon.query(sql, [...params], db.options)) as Row[];
  } catch (error) {
    throw DatabaseError.fromDriver(error);
  }
}

/**
 * Runs all statements in one request and one transaction. Ignores their rows, so that nothing can fail after the
 * commit. Only the rows of `look` are read: the last statement, which must be the engine's.
 */
export async function commit<Row extends object>(
  db: Database,
  statements: readonly (SQL | Query)[],
  look?: SQL,
): Promise<Row[]> {
  const queries = statements.map((statement) => {
    const { sql, params } = queryIn(statement);
    return db.neon.query(sql, [...params], AS_THEY_COME);
  });
  if (look) {
    const { sql, params } = textOf(look);
    queries.push(db.neon.query(sql, [...params], { types: PARSERS }));
  }
  try {
    const results = await db.neon.transaction(queries, db.options);
    return look ? ((results.at(-1) ?? []) as Row[]) : [];
  } catch (error) {
    throw DatabaseError.fromDriver(error);
  }
}

/** Returns all values as texts, because a user's statement may return a type whose parser throws. */
const AS_THEY_COME = { types: { getTypeParser: () => asText } } as unknown as HTTPQueryOptions<false, false>;

function queryIn(statement: SQL | Query): Query {
  return 'sql' in statement ? statement : textOf(statement);
}
