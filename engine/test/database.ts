import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, vi } from 'vitest';
import type { WorkerKind } from '../cli/config/worker-config.ts';
import { connect } from '../cli/database/connect.ts';
import { createWorkerRoles } from '../cli/database/worker-roles.ts';
import { startNeon } from '../cli/local/neon/endpoint.ts';
import { startOutside } from '../cli/local/outside.ts';
import { type Stack, startStack } from '../cli/local/stack.ts';
import { type Database, openDatabase } from '../src/db/client.ts';
import { openReadOnlyDatabase, type ReadOnlyDatabase } from '../src/db/user-statement.ts';

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
  /** The name of a Worker's role. */
  readonly role: (worker: WorkerKind) => string;
  /** Builds statements, as for a handler, with the role of the consumer. */
  readonly readOnly: ReadOnlyDatabase;
  /** Over TCP, as the owner of the tables. */
  readonly sql: <Row extends object>(query: string, params?: unknown[]) => Promise<Row[]>;
  /**
   * Works while a transaction holds what a statement has locked. It ends, with a rollback unless otherwise said, once so many
   * wait for it, or with 0 when the work is done.
   */
  readonly whileLocked: <Result>(
    statement: string,
    waiting: number,
    work: () => Promise<Result>,
    end?: 'commit' | 'rollback',
  ) => Promise<Result>;
}

/** For what is waited for: it ends as soon as the condition holds. On a very busy machine, a start of dev took over a minute. */
export const WAIT = { timeout: 150_000, interval: 50 };

/**
 * Starts everything that Workers need around them, for one test file. Files share one Postgres (node-setup.ts), and each has
 * a database and roles of its own. With `own` it is a Postgres of its own, for tests that stop it or name its roles.
 */
async function startTestStack({ own = false } = {}): Promise<Stack> {
  const shared = inject('postgres');
  if (own || !shared) {
    const stack = await startStack();
    // It loads drizzle-kit, which takes a second.
    const { createFixtureTables } = await import('./fixture/database.ts');
    await createFixtureTables(stack.databaseUrl);
    return stack;
  }
  const template = new URL(shared.ownerUrl);
  const name = `test_${randomUUID().slice(0, 8)}`;
  const superuser = await connect(shared.superuserUrl);
  await superuser.query(`create database ${name} template ${template.pathname.slice(1)} owner ${template.username}`);
  await superuser.end();
  const neon = await startNeon({ postgresPort: shared.port });
  const url = new URL(`/${name}`, template);
  url.port = String(neon.port);
  const { receiver = '', consumer = '', ops = '' } = (await createWorkerRoles(url.href, { rotate: [] })).urls;
  const outside = await startOutside();
  const refuse = () => Promise.reject(new Error('other test files use this Postgres: ask for one of your own'));
  return {
    databaseUrl: url.href,
    workerUrls: { receiver, consumer, ops },
    postgres: { port: shared.port, dataDir: '', superuser: undefined, stop: refuse, halt: refuse, restart: refuse },
    neon,
    outside,
    async stop() {
      await outside.close();
      await neon.close();
    },
  };
}

export function useDatabase(options?: { readonly own: boolean }): TestDatabase {
  let stack: Stack;
  let pool: pg.Pool;
  beforeAll(async () => {
    stack = await startTestStack(options);
    pool = new pg.Pool({ connectionString: stack.databaseUrl });
    // A test may stop Postgres on purpose.
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await pool?.end();
    await stack?.stop();
  });
  const sql = async <Row extends object>(query: string, params: unknown[] = []) =>
    (await pool.query<Row>(query, params)).rows;
  const untilBlocked = (count: number) =>
    vi.waitFor(async () => {
      const blocked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      expect(await sql(blocked)).toHaveLength(count);
    }, WAIT);
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
    role: (worker) => new URL(stack.workerUrls[worker]).username,
    get readOnly() {
      return openReadOnlyDatabase(stack.workerUrls.consumer);
    },
    sql,
    async whileLocked(statement, waiting, work, end = 'rollback') {
      const other = await connect(stack.databaseUrl);
      try {
        await other.query(`begin; ${statement}`);
        const working = work();
        working.catch(() => {});
        if (waiting === 0) await working;
        else await untilBlocked(waiting);
        await other.query(end);
        return await working;
      } finally {
        await other.end();
      }
    },
  };
}
