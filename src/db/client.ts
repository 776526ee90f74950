import type { SQL } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { DatabaseError } from './errors.ts';
import { type NeonAnswer, parseRows, toParam } from './neon-values.ts';
import { type Query, textOf } from './statement.ts';

/**
 * Postgres, over Neon's HTTP interface. It speaks what Neon's own driver speaks (@neondatabase/serverless), in a small
 * part of its code and time (decision 017). Handlers get the driver: see read-only.ts.
 */
export interface Database {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends every query of this handle. Without it, each ends after 10 s. `null`: the caller has a time limit of its own. */
  readonly signal: AbortSignal | null | undefined;
}

/** A Drizzle statement that has not run yet: a query builder, or `db.execute(sql…)`. */
export type Statement = BatchItem<'pg'>;

/** Neon wakes a sleeping compute in less than a second. A hanging request must not use up the consumer's 15 minutes. */
export const QUERY_TIMEOUT_MS = 10_000;

/** A Worker has one DATABASE_URL, or two while a test changes it, and reading a URL takes as long as verifying a body. */
const opened = new Map<string, Pick<Database, 'endpoint' | 'headers'>>();

export function openDatabase(url: string | undefined, signal?: AbortSignal | null): Database {
  let server = opened.get(url ?? '');
  if (server === undefined) {
    const checked = checkedUrl(url);
    const { hostname, port } = new URL(checked);
    server = { endpoint: endpointOf(hostname, port), headers: headersFor(checked) };
    opened.set(checked, server);
  }
  return { ...server, signal };
}

/** The driver would throw only at the first query, and with the whole URL, password included, in its message. */
export function checkedUrl(url: string | undefined): string {
  if (url !== undefined && URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol)) return url;
  throw new DatabaseError('DATABASE_URL is not set to a postgres:// URL', { retryable: false });
}

/**
 * Only a loopback host uses the local stand-in, so local development can't reach production by accident. Any other host
 * is one of Neon's, whose HTTP interface is at the name beside it.
 */
export function endpointOf(host: string, port: string | number): string {
  if (['localhost', '127.0.0.1'].includes(host)) return `http://${host}:${port}/sql`;
  return `https://${host.replace(/^[^.]+\./, 'api.')}/sql`;
}

function headersFor(url: string): Record<string, string> {
  return { 'Neon-Connection-String': url, 'Neon-Raw-Text-Output': 'true', 'Neon-Array-Mode': 'true' };
}

/** Runs one statement of ours, of which `Row` says what it returns. */
export async function run<Row extends object>(db: Database, statement: SQL | Query): Promise<Row[]> {
  // Outside of the `try`: a mistake of ours is not one of the database, and its log line needs its name and position.
  const { sql, params } = 'sql' in statement ? statement : textOf(statement);
  const question = { query: sql, params: params.map(toParam) };
  try {
    return parseRows<Row>(await ask<NeonAnswer>(db, question));
  } catch (error) {
    throw DatabaseError.from(error);
  }
}

/**
 * One request, one transaction, no statement in between. Returned rows are not read, so that nothing can fail after the
 * commit.
 */
export async function commit(db: Database, statements: readonly (SQL | Query)[]): Promise<void> {
  try {
    const queries = statements.map((statement) => {
      const { sql, params } = 'sql' in statement ? statement : textOf(statement);
      return { query: sql, params: params.map(toParam) };
    });
    await ask(db, { queries });
  } catch (error) {
    throw DatabaseError.from(error);
  }
}

/** Neon's answer to a question. Only what can go wrong on the way there and back is caught here. */
async function ask<Answer>({ endpoint, headers, signal }: Database, question: object): Promise<Answer> {
  const init = { method: 'POST', headers, body: JSON.stringify(question) };
  const limit = signal === undefined ? AbortSignal.timeout(QUERY_TIMEOUT_MS) : signal;
  try {
    const response = await fetch(endpoint, limit ? { ...init, signal: limit } : init);
    if (response.ok) return await response.json();
    if (response.status === 400) throw DatabaseError.fromRefusal(await response.json());
    throw DatabaseError.fromStatus(response.status, await response.text());
  } catch (error) {
    throw error instanceof DatabaseError ? error : DatabaseError.fromFetch(error);
  }
}
