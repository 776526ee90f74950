import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { madeUpSecrets } from '../../../scripts/config/dev-vars.ts';
import { readConfig } from '../../../scripts/config/worker-config.ts';
import { secretName } from '../../../src/receiver/secrets.ts';
import { bundle } from '../../../workshop/bundle.ts';
import { type TestDatabase, useDatabase } from '../database.ts';
import { sources } from '../fixture/sources.ts';
import { type Name, type Options, type SignedDelivery, signers } from '../signatures.ts';
import { seed } from './form.ts';
import { Queues } from './queues.ts';
import { randomFrom } from './random.ts';
import { type Deployment, Workerd } from './workerd.ts';

/** All that is around the Workers, for the tests of one file that start, kill and mix Workers themselves. */
export interface Cloud extends Pick<TestDatabase, 'stack' | 'sql'> {
  readonly queues: Queues;
  /** Starts the Workers of today, or others. They are stopped at the end. */
  readonly start: (changes?: Partial<Deployment>) => Promise<Workerd>;
  /** A delivery signed by the source's own SDK. */
  readonly sign: (source: Name, body: string, options?: Partial<Options>) => Promise<SignedDelivery>;
}

/** The fixture's wrangler files. The queues of both consumers have the same names. */
const CONFIGS = {
  receiver: 'test/engine/fixture/wrangler.toml',
  consumer: 'test/engine/fixture/wrangler.consumer.toml',
};

const FOLDER = 'test/engine/faults/previous';

/** The Workers of the previous release, and how it has made its tables: see workshop/previous.ts. */
export const PREVIOUS = { receiver: `${FOLDER}/worker.js`, consumer: `${FOLDER}/worker.js` };
export const PREVIOUS_MIGRATIONS = `${FOLDER}/engine`;

/** With another wrangler file of the receiver, or another file of the consumer in place of the fixture's. */
export function useCloud({
  receiver = CONFIGS.receiver,
  consumer,
}: {
  receiver?: string;
  consumer?: string;
} = {}): Cloud {
  const configs = { ...CONFIGS, receiver };
  let today: Pick<Deployment, 'receiver' | 'consumer'>;
  // Before anything else, because it blocks this process for seconds.
  beforeAll(() => {
    today = { receiver: build(configs.receiver), consumer: build(configs.consumer, consumer) };
  });
  const database = useDatabase();
  const queues = new Queues(configs.consumer, randomFrom(seed));
  const secrets = madeUpSecrets(sources);
  const started: Workerd[] = [];
  beforeAll(() => queues.start());
  afterAll(async () => {
    await queues.stop();
    for (const workerd of started) await workerd.stop();
    rmSync(CACHE, { recursive: true, force: true });
  });

  return {
    get stack() {
      return database.stack;
    },
    queues,
    async start(changes = {}) {
      const workerd = await Workerd.start({
        ...today,
        configs,
        databaseUrls: database.stack.workerUrls,
        secrets,
        outsideUrl: database.stack.outside.url,
        queuesPort: queues.port,
        ...changes,
      });
      started.push(workerd);
      return workerd;
    },
    sign: async (source, body, options) =>
      signers[source](body, { secret: secrets[secretName(source)] ?? '', ...options }),
    sql: database.sql,
  };
}

/** Of this test file alone: others may run at the same time. */
const CACHE = `node_modules/.cache/claimcheck/faults-${process.pid}`;

/** A Worker as `wrangler deploy` would send it. */
function build(path: string, main = join(dirname(path), readConfig(path).main)): string {
  const { name, raw } = readConfig(path);
  return bundle(main, raw, `${CACHE}/${name}`);
}
