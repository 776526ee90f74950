import { vi } from 'vitest';
import { createConsumer } from '../../src/consumer/consumer.ts';
import type { ConsumerDependencies } from '../../src/consumer/portions.ts';
import type { Handler, HandlerList, Source } from '../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { searchedLog } from '../canaries/canaries.ts';
import { FakeQueue } from '../fake-queue.ts';

/** A message of the queue that remembers what became of it: acknowledged, or returned with a delay in seconds. */
export class FakeMessage {
  readonly timestamp = new Date();
  readonly id: string;
  readonly body: unknown;
  readonly attempts: number;
  settled: 'acked' | number | undefined;

  /** The ticket of an event, unless it has another body. */
  constructor(
    id: string,
    ticketDeliveries = 1,
    body: unknown = { version: MESSAGE_VERSION, source: 'test', eventId: id },
  ) {
    this.id = id;
    this.body = body;
    this.attempts = ticketDeliveries;
  }

  ack() {
    this.settled ??= 'acked';
  }

  retry({ delaySeconds = 0 } = {}) {
    this.settled ??= delaySeconds;
  }
}

/** While this works, what waits for some seconds waits for a hundredth of them. Time limits are longer, and stay. */
export async function hurried<Result>(work: () => Promise<Result>): Promise<Result> {
  const wait = globalThis.setTimeout;
  const faster = (then: () => void, ms = 0, ...given: []) => wait(then, ms < 10_000 ? ms / 100 : ms, ...given);
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(faster as typeof setTimeout);
  return work().finally(() => timers.mockRestore());
}

interface Options {
  readonly queue?: 'events' | 'effects' | 'events-dead' | 'another';
  readonly effects?: ConsumerDependencies['effects'];
  readonly handlerMs?: number;
  readonly vars?: Record<string, string>;
  readonly effectMs?: number;
  readonly now?: () => Date;
  /** Gets the tickets of effects that the consumer sends. */
  readonly sent?: FakeQueue;
  /** Gets the tickets of events that it sends: those that are next in an order. */
  readonly next?: FakeQueue;
  readonly orderKey?: Source['orderKey'];
  readonly tenants?: true;
  /** Gets the lines that it logs. */
  readonly lines?: LogLine[];
}

/** The consumer, in Node and not in workerd, because only here can a test count and break its requests. */
export async function consumeInNode(
  messages: FakeMessage[],
  handler: Handler | HandlerList,
  databaseUrl: string,
  {
    queue = 'events',
    effects = {},
    handlerMs = 30_000,
    effectMs = 30_000,
    now = () => new Date(),
    vars = {},
    sent = new FakeQueue(),
    next = new FakeQueue(),
    orderKey,
    tenants,
    lines,
  }: Options = {},
) {
  const consumer = createConsumer({
    handlers: { test: { test: handler }, other: { test: handler } },
    sources: {
      test: { types: ['test'], ...(orderKey && { orderKey }), ...(tenants && { tenants }) },
      other: { types: [] },
    },
    effects,
    now,
    random: () => 0.5,
    log: (line) => {
      searchedLog(line);
      lines?.push(line);
    },
    handlerMs,
    effectMs,
  });
  const retryAll = (options: QueueRetryOptions) => {
    for (const message of messages) message.retry(options);
  };
  const batch = { queue, messages, retryAll } as unknown as MessageBatch;
  const env = {
    ...vars,
    DATABASE_URL: databaseUrl,
    EVENTS_QUEUE: 'events',
    EFFECTS_QUEUE: 'effects',
    EVENTS_DEAD_QUEUE: 'events-dead',
    EVENTS: next,
    EFFECTS: sent,
  } as unknown as ConsumerEnv;
  await consumer.queue(batch, env);
  return messages;
}
