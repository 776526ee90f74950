import { afterAll, beforeAll, expect, vi } from 'vitest';
import { startWorkers, type Workers, type WorkersOptions } from '../cli/local/workers.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { learnPassword, learnVariables, search, withMark } from './canaries/canaries.ts';
import { type TestDatabase, useDatabase, WAIT } from './database.ts';
import { sources } from './fixture/sources.ts';
import { type Name, type Options, type SignedDelivery, signers } from './signatures.ts';

/** Postgres, the Neon endpoint and the Workers, for the tests of one file. */
export interface Running extends Pick<TestDatabase, 'stack' | 'sql'> {
  readonly workers: Workers;
  readonly secret: (source: Name) => string;
  /** A delivery signed by the source's own SDK. */
  readonly sign: (source: Name, body: string, options?: Partial<Options>) => Promise<SignedDelivery>;
  readonly post: (source: string, delivery: SignedDelivery | RequestInit) => Promise<Response>;
  /** Deletes every event, with its effects, and every balance. A truncate would wait for a consumer, and it for the truncate. */
  readonly empty: () => Promise<void>;
  /** Resolves once neither an event nor an effect is pending. */
  readonly quiet: () => Promise<void>;
  readonly logs: () => string;
}

export { WAIT };

/** The fixture's receiver and consumer. They hold every guarantee without the ops Worker. */
export const FIXTURE: WorkersOptions = {
  sources,
  receiver: 'engine/test/fixture/wrangler.toml',
  consumer: 'engine/test/fixture/wrangler.consumer.toml',
};

/** For tests of the console, which is then at `/ops` beside the receiver. */
export const OPS = { ops: 'engine/test/fixture/wrangler.ops.toml' };

export function useRunning(options: Partial<WorkersOptions> = {}): Running {
  const database = useDatabase();
  const { sql } = database;
  let workers: Workers;
  beforeAll(async () => {
    const { stack } = database;
    workers = await startWorkers(stack, { ...FIXTURE, ...options });
    learnVariables(workers.secrets);
    for (const url of [stack.databaseUrl, ...Object.values(stack.workerUrls)]) learnPassword(url);
  });
  afterAll(async () => {
    if (workers) searchLog(workers);
    await searchTables(sql);
    await workers?.harness.close();
  });

  const secret = (source: Name) => workers.secrets[secretName(source)] ?? '';
  return {
    get stack() {
      return database.stack;
    },
    get workers() {
      return workers;
    },
    secret,
    sign: async (source, body, options) => signers[source](withMark(body), { secret: secret(source), ...options }),
    post: (source, delivery) => fetch(`${workers.url}webhooks/${source}`, { method: 'POST', ...delivery }),
    sql,
    async empty() {
      await sql('delete from webhooks.events');
      await sql('delete from fixture.balances');
    },
    quiet: () =>
      vi.waitFor(async () => {
        const pending = await sql(
          `select event_id from webhooks.events where status = 'pending'
           union all select event_id from webhooks.effects where status = 'pending'`,
        );
        expect(pending, 'is still pending').toEqual([]);
      }, WAIT),
    logs: () => logOf(workers),
  };
}

function logOf({ harness }: Workers): string {
  return harness
    .getLogs()
    .map(({ message }) => message)
    .join('\n');
}

/** Searches all that Workers have logged for canaries, their own secrets among them. */
export function searchLog(workers: Workers): void {
  learnVariables(workers.secrets);
  search(logOf(workers), 'the log of the Workers');
}

/** Where bodies are kept: the body itself, and what handlers made of it. */
const WITH_BODIES = ['webhooks.bodies', 'webhooks.effects', 'fixture.balances', 'fixture.states'];

/** Searches every row of every table: somebody who can read the database must not find what signs a delivery. */
export async function searchTables(sql: Running['sql']): Promise<void> {
  const tables = await sql<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname in ('webhooks', 'public', 'fixture')`,
  );
  for (const { name } of tables) {
    const rows = await sql<{ row: string }>(`select t::text as row from ${name} t`);
    search(rows.map(({ row }) => row).join('\n'), `the table ${name}`, WITH_BODIES.includes(name) ? ['body'] : []);
  }
}
