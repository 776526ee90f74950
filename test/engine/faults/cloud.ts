import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { bundle } from '../../../scripts/local/bundle.ts';
import { readConfig } from '../../../scripts/local/config.ts';
import { madeUpSecrets } from '../../../scripts/local/dev-vars.ts';
import { type Stack, startStack } from '../../../scripts/local/stack.ts';
import { secretName } from '../../../src/receiver/secrets.ts';
import { createFixtureTables } from '../fixture/database.ts';
import { sources } from '../fixture/sources.ts';
import { type Name, type Options, type SignedDelivery, signers } from '../signatures.ts';
import { seed } from './form.ts';
import { Queues } from './queues.ts';
import { randomFrom } from './random.ts';
import { type Deployment, Workerd } from './workerd.ts';

/** All that is around the Workers, for the tests of one file that start, kill and mix Workers themselves. */
export interface Cloud {
  readonly stack: Stack;
  readonly queues: Queues;
  /** Starts the Workers of today, or others. They are stopped at the end. */
  readonly start: (changes?: Partial<Deployment>) => Promise<Workerd>;
  /** A delivery signed by the source's own SDK. */
  readonly sign: (source: Name, body: string, options?: Partial<Options>) => Promise<SignedDelivery>;
  /** Over TCP, as the owner of the tables. */
  readonly sql: <Row extends object>(query: string, params?: unknown[]) => Promise<Row[]>;
}

/** The fixture's wrangler files. The queues of both consumers have the same names. */
const CONFIGS = {
  receiver: 'test/engine/fixture/wrangler.toml',
  consumer: 'test/engine/fixture/wrangler.consumer.toml',
};

const BUNDLE = 'test/engine/faults/previous/worker.js';

/** The Workers of the previous release: see scripts/previous.ts. */
export const PREVIOUS = { receiver: BUNDLE, consumer: BUNDLE };

export function useCloud(configs = CONFIGS): Cloud {
  let stack: Stack;
  let queues: Queues;
  let pool: pg.Pool;
  const secrets = madeUpSecrets(sources);
  const started: Workerd[] = [];
  let today: Pick<Deployment, 'receiver' | 'consumer'>;
  beforeAll(async () => {
    // Before anything else, because it blocks this process for seconds.
    today = { receiver: build(configs.receiver), consumer: build(configs.consumer) };
    stack = await startStack();
    await createFixtureTables(stack.databaseUrl);
    queues = new Queues(configs.consumer, randomFrom(seed));
    await queues.start();
    pool = new pg.Pool({ connectionString: stack.databaseUrl });
    // A test may kill Postgres on purpose.
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await queues?.stop();
    for (const workerd of started) await workerd.stop();
    await pool?.end();
    await stack?.stop();
    rmSync(CACHE, { recursive: true, force: true });
  });

  return {
    get stack() {
      return stack;
    },
    get queues() {
      return queues;
    },
    async start(changes = {}) {
      const workerd = await Workerd.start({
        ...today,
        configs,
        databaseUrls: stack.workerUrls,
        secrets,
        outsideUrl: stack.outside.url,
        queuesPort: queues.port,
        ...changes,
      });
      started.push(workerd);
      return workerd;
    },
    sign: async (source, body, options) =>
      signers[source](body, { secret: secrets[secretName(source)] ?? '', ...options }),
    sql: async <Row extends object>(query: string, params: unknown[] = []) =>
      (await pool.query<Row>(query, params)).rows,
  };
}

/** Of this test file alone: others may run at the same time. */
const CACHE = `node_modules/.cache/claimcheck/faults-${process.pid}`;

/** A Worker as `wrangler deploy` would send it. */
function build(path: string): string {
  const { name, main, raw } = readConfig(path);
  return bundle(join(dirname(path), main), raw, `${CACHE}/${name}`);
}
