import { readConfig } from '../../../cli/config/worker-config.ts';
import { secretName } from '../../../src/receiver/secrets.ts';
import type { AdversarialQueue, Taken } from '../adversarial-queue.ts';
import { sources } from './app.ts';
import type { Interleaving, Run } from './interleaving.ts';
import type { Lane } from './lanes.ts';

/** One secret for all sources: nobody here has to guess it. */
export const SECRET = 'whsec_Y3Jhc2ggdGVzdHMgb2YgdGhlIGVuZ2luZQ==';

/** The consumer's variables and queues are those of this file. */
export const CONFIG = 'engine/test/fixture/wrangler.consumer.toml';
const { vars, produces } = readConfig(CONFIG);

/** What the two Workers get from their environment. Everything that a run does with it is a step of that run. */
export function createBindings(
  interleaving: Interleaving,
  queues: ReadonlyMap<string, AdversarialQueue>,
  databaseUrls: Lane['databaseUrls'],
) {
  const queueOf = (run: Run, name = '') => {
    const send = (bodies: readonly unknown[]) => {
      const write = async () => {
        for (const body of bodies) queues.get(name)?.write(body);
      };
      return interleaving.step(run, `send ${bodies.length} to ${name}`, write, failed);
    };
    return {
      send: (body: unknown) => send([body]),
      sendBatch: (messages: Iterable<MessageSendRequest>) => send(Array.from(messages, ({ body }) => body)),
    };
  };
  const messageOf = (run: Run, taken: Taken) => {
    const { id, body, sentAt, deliveries } = taken.stored;
    const settle = (how: string, settled: Taken['settled']) => {
      if (run.ended || taken.settled !== undefined) return;
      const fault = interleaving.point(run, `${how} ${id}`);
      if (fault === 'error') failed();
      if (fault === undefined) taken.settled = settled;
    };
    return {
      id,
      body: structuredClone(body),
      timestamp: new Date(sentAt),
      attempts: deliveries,
      ack: () => settle('ack', 'acked'),
      retry: ({ delaySeconds = 0 } = {}) => settle('retry', delaySeconds),
    };
  };
  return {
    receiver: (run: Run) =>
      ({
        ...Object.fromEntries(Object.keys(sources).map((name) => [secretName(name), SECRET])),
        DATABASE_URL: databaseUrls.receiver,
        EVENTS: queueOf(run, produces.EVENTS),
      }) as unknown as Env,
    consumer: (run: Run) =>
      ({
        ...vars,
        DATABASE_URL: databaseUrls.consumer,
        EVENTS: queueOf(run, produces.EVENTS),
        EFFECTS: queueOf(run, produces.EFFECTS),
        ALERT_WEBHOOK_URL: 'https://alerts.example.com/',
      }) as unknown as ConsumerEnv,
    /** What a consumer gets. */
    batch: (run: Run, { name }: AdversarialQueue, taken: readonly Taken[]) =>
      ({ queue: name, messages: taken.map((one) => messageOf(run, one)) }) as unknown as MessageBatch,
  };
}

export function failed(): never {
  throw new Error('it failed');
}

/** Work that goes on after the answer is a part of the run. */
export class Context {
  readonly #promises: Promise<unknown>[] = [];
  readonly forWorker = {
    waitUntil: (promise: Promise<unknown>) => void this.#promises.push(promise),
    passThroughOnException() {},
  } as ExecutionContext;

  async settled(): Promise<void> {
    for (const promise of this.#promises) await promise;
  }
}
