import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { madeUpSecrets } from '../../cli/config/dev-vars.ts';
import { readConfig, standInVars, type WorkerConfig } from '../../cli/config/worker-config.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import { bundle } from '../../workshop/bundle.ts';
import { type Workerd as Process, startWorkerd } from '../../workshop/workerd.ts';
import { learnPassword, learnVariables, search } from '../canaries/canaries.ts';
import { type TestDatabase, useDatabase } from '../database.ts';
import { sources } from '../fixture/sources.ts';
import { type Name, type Options, signers } from '../signatures.ts';
import { seed } from './form.ts';
import { type Consume, Queues, type Settled } from './queues.ts';
import { randomFrom } from './random.ts';

/** What differs from today's Workers: their bundles, which may be one file, and their databases. */
interface Deployment {
  readonly receiver: string;
  readonly consumer: string;
  readonly databaseUrls: { readonly receiver: string; readonly consumer: string };
}

/**
 * Receiver and consumer in a workerd process of their own, which can be killed and started again. Their queues are outside
 * of it, as Cloudflare's are: what is on a queue must survive the Worker that has sent it.
 */
export interface Workerd extends Pick<Process, 'kill' | 'restart'> {
  /** Delivers an event, signed by the source's own SDK. */
  readonly deliver: (source: Name, body: string, options?: Partial<Options>) => Promise<Response>;
  readonly consume: Consume;
  /** Runs the consumer's cron, as if it were this time. */
  readonly tick: (at: Date) => Promise<void>;
}

/** All that is around the Workers, for the tests of one file that start, kill and mix Workers themselves. */
export interface Cloud extends Pick<TestDatabase, 'stack' | 'sql'> {
  readonly queues: Queues;
  /** Starts the Workers of today, or others. They are stopped at the end. */
  readonly start: (changes?: Partial<Deployment>) => Promise<Workerd>;
}

/** The fixture's wrangler files. */
const RECEIVER = 'engine/test/fixture/wrangler.toml';
const CONSUMER = 'engine/test/fixture/wrangler.consumer.toml';

const FOLDER = 'engine/test/faults/previous';

/** The Workers of the previous release, and how it has made its tables: see engine/workshop/previous.ts. */
export const PREVIOUS = { receiver: `${FOLDER}/worker.js`, consumer: `${FOLDER}/worker.js` };
export const PREVIOUS_MIGRATIONS = `${FOLDER}/engine`;

/** With another wrangler file of the receiver, or another file of the consumer in place of the fixture's. */
export function useCloud({ receiver = RECEIVER, consumer }: { receiver?: string; consumer?: string } = {}): Cloud {
  let today: Pick<Deployment, 'receiver' | 'consumer'>;
  // Before anything else, because it blocks this process for seconds.
  beforeAll(() => {
    today = { receiver: build(receiver), consumer: build(CONSUMER, consumer) };
  });
  const database = useDatabase();
  const queues = new Queues(CONSUMER, randomFrom(seed));
  const secrets = madeUpSecrets(sources);
  const started: Process[] = [];
  beforeAll(() => queues.start());
  afterAll(async () => {
    await queues.stop();
    for (const workerd of started) await workerd.stop();
    rmSync(CACHE, { recursive: true, force: true });
  });

  const startProcess = (deployed: Deployment) => {
    learnVariables(secrets);
    for (const url of Object.values(deployed.databaseUrls)) learnPassword(url);
    const configs = [readConfig(receiver), readConfig(CONSUMER)] as const;
    const compatibilityDate = configs[0].raw.compatibility_date;
    const worker = (script: string, config: WorkerConfig, vars: Readonly<Record<string, string>>) => ({
      script,
      compatibilityDate,
      vars: { ...config.vars, ...standInVars(config, database.stack.outside.url), ...vars },
      queues: Object.fromEntries(queuesOf(config).map(([binding, queue]) => [binding, serviceOf(queue)])),
    });
    const external = configs
      .flatMap(queuesOf)
      .map(([, queue]) => [serviceOf(queue), { port: queues.port, header: ['x-queue', queue] }] as const);
    const { receiver: receiverUrl, consumer: consumerUrl } = deployed.databaseUrls;
    return startWorkerd(
      {
        receiver: worker(deployed.receiver, configs[0], { DATABASE_URL: receiverUrl, ...secrets }),
        consumer: worker(deployed.consumer, configs[1], { DATABASE_URL: consumerUrl }),
        gate: {
          script: 'engine/test/faults/gate.js',
          compatibilityDate,
          flags: ['service_binding_extra_handlers'],
          services: { CONSUMER: 'consumer' },
        },
      },
      {
        sockets: { receiver: 'receiver', gate: 'gate' },
        external: Object.fromEntries(external),
        network: ['public', 'private'],
        onLine: (line) => search(line, 'the log of workerd'),
      },
    );
  };

  return {
    get stack() {
      return database.stack;
    },
    queues,
    async start(changes) {
      const process = await startProcess({ ...today, databaseUrls: database.stack.workerUrls, ...changes });
      started.push(process);
      const throughGate = async (message: object): Promise<unknown> => {
        const response = await fetch(process.urlOf('gate'), { method: 'POST', body: JSON.stringify(message) });
        if (!response.ok) throw new Error(`the gate answered ${response.status}`);
        return response.json();
      };
      return {
        async deliver(source, body, options) {
          const signed = await signers[source](body, { secret: secrets[secretName(source)] ?? '', ...options });
          return fetch(`${process.urlOf('receiver')}/webhooks/${source}`, { method: 'POST', ...signed });
        },
        kill: process.kill,
        restart: process.restart,
        consume: async (queue, messages) => (await throughGate({ queue, messages })) as Settled,
        tick: async (at) => void (await throughGate({ scheduledTime: at.getTime() })),
      };
    },
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

function queuesOf({ produces }: WorkerConfig): [binding: string, queue: string][] {
  return Object.entries(produces).flatMap(([binding, queue]) => (queue === undefined ? [] : [[binding, queue]]));
}

const serviceOf = (queue: string) => `queue ${queue}`;
