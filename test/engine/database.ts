import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type Stack, startStack } from '../../scripts/local/stack.ts';
import { type Database, openDatabase } from '../../src/db/client.ts';
import { openReadOnlyDatabase, type ReadOnlyDatabase } from '../../src/db/read-only.ts';
import { createFixtureTables } from './fixture/database.ts';

/** A real Postgres behind the local Neon endpoint, for the tests of one file. */
export interface TestDatabase {
  readonly stack: Stack;
  /** Over HTTP, as the owner of the tables. */
  readonly db: Database;
  /** Over HTTP, with the role of the receiver: a missing right fails the test. */
  readonly receiver: Database;
  /** Over HTTP, with the role of the consumer. */
  readonly consumer: Database;
  /** Over HTTP, with the role of the ops Worker. */
  readonly ops: Database;
  /** Builds statements, as for a handler, with the role of the consumer. */
  readonly readOnly: ReadOnlyDatabase;
  /** Over TCP, as the owner of the tables. */
  readonly sql: <Row extends object>(query: string, params?: unknown[]) => Promise<Row[]>;
}

export function useDatabase(): TestDatabase {
  let stack: Stack;
  let pool: pg.Pool;
  beforeAll(async () => {
    stack = await startStack();
    await createFixtureTables(stack.databaseUrl);
    pool = new pg.Pool({ connectionString: stack.databaseUrl });
    // A test may stop Postgres on purpose.
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await pool?.end();
    await stack?.stop();
  });
  return {
    get stack() {
      return stack;
    },
    get db() {
      return openDatabase(stack.databaseUrl);
    },
    get receiver() {
      return openDatabase(stack.workerUrls.receiver);
    },
    get consumer() {
      return openDatabase(stack.workerUrls.consumer);
    },
    get ops() {
      return openDatabase(stack.workerUrls.ops);
    },
    get readOnly() {
      return openReadOnlyDatabase(stack.workerUrls.consumer);
    },
    sql: async <Row extends object>(query: string, params: unknown[] = []) =>
      (await pool.query<Row>(query, params)).rows,
  };
}
