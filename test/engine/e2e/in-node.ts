import { createConsumer } from '../../../src/consumer/consumer.ts';
import type { Handler } from '../../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../../src/queue/tickets.ts';
import { searchedLog } from '../canaries/canaries.ts';

/** A message of the queue that remembers what became of it: acknowledged, or returned with a delay in seconds. */
export class FakeMessage {
  readonly timestamp = new Date();
  readonly id: string;
  readonly body: unknown;
  readonly attempts: number;
  settled: 'acked' | number | undefined;

  constructor(id: string, ticketDeliveries = 1) {
    this.id = id;
    this.body = { version: MESSAGE_VERSION, source: 'test', eventId: id };
    this.attempts = ticketDeliveries;
  }

  ack() {
    this.settled ??= 'acked';
  }

  retry({ delaySeconds = 0 } = {}) {
    this.settled ??= delaySeconds;
  }
}

/** The consumer, in Node and not in workerd, because only here can a test count and break its requests. */
export async function consumeInNode(messages: FakeMessage[], handler: Handler, databaseUrl: string) {
  const consumer = createConsumer({
    handlers: { test: { test: handler } },
    effects: {},
    now: () => new Date(),
    random: () => 0.5,
    log: searchedLog,
    handlerMs: 1000,
    effectMs: 1000,
  });
  const batch = { queue: 'events', messages } as unknown as MessageBatch;
  const env = { DATABASE_URL: databaseUrl, EVENTS_QUEUE: 'events' } as ConsumerEnv;
  await consumer.queue?.(batch, env, {} as ExecutionContext);
  return messages;
}
