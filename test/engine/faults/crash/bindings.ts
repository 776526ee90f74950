import { secretName } from '../../../../src/receiver/secrets.ts';
import { sources } from './app.ts';
import type { Interleaving, Run } from './interleaving.ts';
import type { Lane } from './lanes.ts';
import type { AdversarialQueue, Taken } from './queue.ts';

/** One secret for all sources: nobody here has to guess it. */
export const SECRET = 'whsec_Y3Jhc2ggdGVzdHMgb2YgdGhlIGVuZ2luZQ==';

export interface Queues {
  readonly events: AdversarialQueue;
  readonly effects: AdversarialQueue;
  readonly deadEvents: AdversarialQueue;
  readonly deadEffects: AdversarialQueue;
}

/** What the two Workers get from their environment. Everything that a run does with it is a step of that run. */
export class Bindings {
  readonly #interleaving: Interleaving;
  readonly #queues: Queues;
  readonly #databaseUrls: Lane['databaseUrls'];

  constructor(interleaving: Interleaving, queues: Queues, databaseUrls: Lane['databaseUrls']) {
    this.#interleaving = interleaving;
    this.#queues = queues;
    this.#databaseUrls = databaseUrls;
  }

  receiver(run: Run): Env {
    return {
      ...Object.fromEntries(Object.keys(sources).map((name) => [secretName(name), SECRET])),
      DATABASE_URL: this.#databaseUrls.receiver,
      EVENTS: this.#queue(run, this.#queues.events),
    } as unknown as Env;
  }

  consumer(run: Run): ConsumerEnv {
    const { events, effects, deadEvents, deadEffects } = this.#queues;
    return {
      DATABASE_URL: this.#databaseUrls.consumer,
      EVENTS: this.#queue(run, events),
      EFFECTS: this.#queue(run, effects),
      EVENTS_QUEUE: events.name,
      EFFECTS_QUEUE: effects.name,
      EVENTS_DEAD_QUEUE: deadEvents.name,
      EFFECTS_DEAD_QUEUE: deadEffects.name,
      DEDUPE_DAYS: 30,
      BODY_DAYS: 7,
      ALERT_WEBHOOK_URL: 'https://alerts.example.com/',
    } as unknown as ConsumerEnv;
  }

  /** The batch that a consumer gets. */
  batch(run: Run, queue: AdversarialQueue, taken: readonly Taken[]): MessageBatch {
    return { queue: queue.name, messages: taken.map((one) => this.#message(run, one)) } as unknown as MessageBatch;
  }

  #queue(run: Run, queue: AdversarialQueue): Queue {
    const send = (bodies: readonly unknown[]) => {
      const write = async () => {
        for (const body of bodies) queue.write(body);
      };
      return this.#interleaving.step(run, `send ${bodies.length} to ${queue.name}`, write, failed);
    };
    return {
      send: (body: unknown) => send([body]),
      sendBatch: (messages: Iterable<MessageSendRequest>) => send(Array.from(messages, ({ body }) => body)),
    } as unknown as Queue;
  }

  #message(run: Run, taken: Taken): Message {
    const { id, body, sentAt, deliveries } = taken.stored;
    const settle = (how: string, settled: Taken['settled']) => {
      if (run.ended || taken.settled !== undefined) return;
      const fault = this.#interleaving.point(run, `${how} ${id}`);
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
    } as Message;
  }
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
