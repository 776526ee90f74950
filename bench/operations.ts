import { randomUUID } from 'node:crypto';
import { createConsumer } from '../src/consumer/consumer.ts';
import { defineEffect, defineEffects, defineHandler } from '../src/kit/index.ts';
import { claimOrForward } from '../src/receiver/claim-or-forward.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { type Row, Rows } from './rows.ts';

/** As in the wrangler file: tickets in a batch of events, and in one of effects. */
const BATCH = 100;
const EFFECTS_BATCH = 6;

/** A multiple of both, because a rest would be a smaller batch. */
const EVENTS = 600;

const { effects, effect } = defineEffects({
  receipt: defineEffect<{ invoice: string }>({ send: async () => new Response() }),
});

/** Counts requests to Neon and messages to the queues. Counts don't vary, so there is one round, in Node. */
export async function benchOperations(): Promise<Row[]> {
  const rows = new Rows();
  const database = await startDatabase();
  try {
    const events = new CountingQueue();
    const sentEffects = new CountingQueue();
    const count = async (variant: string, work: () => Promise<void>) => {
      await database.counts();
      const before = events.messages.length + sentEffects.messages.length;
      await work();
      const { requests } = await database.counts();
      const messages = events.messages.length + sentEffects.messages.length - before;
      rows.add('operations per event', variant, {
        'SQL round trips': requests / EVENTS,
        'queue messages': messages / EVENTS,
      });
    };
    const ids = Array.from({ length: EVENTS }, () => randomUUID());
    await count('delivery of a new event', () => deliver(ids, database, events));
    await count('delivery of a duplicate', () => deliver(ids, database, events));
    const consume = consumer(database, sentEffects);
    const tickets = events.messages.splice(0);
    await count('work, in batches of 100', () => consume('events', tickets, BATCH));
    await count('effect, in batches of 6', () => consume('effects', sentEffects.messages, EFFECTS_BATCH));

    await deliver(
      ids.map((id) => `${id}-alone`),
      database,
      events,
    );
    const before = sentEffects.messages.length;
    await count('work, one by one', () => consume('events', events.messages, 1));
    await count('effect, one by one', () => consume('effects', sentEffects.messages.slice(before), 1));
    return rows.all();
  } finally {
    await database.stop();
  }
}

/** Takes the place of a queue's binding. */
class CountingQueue {
  readonly messages: unknown[] = [];

  readonly send = async (body: unknown) => void this.messages.push(body);
  readonly sendBatch = async (batch: Iterable<{ body: unknown }>) => {
    for (const { body } of batch) this.messages.push(body);
  };
}

/** What is counted must not depend on the machine's speed. */
const CLAIM_TIMEOUT_MS = 30_000;

async function deliver(ids: readonly string[], { url }: BenchDatabase, queue: CountingQueue): Promise<void> {
  const env = { DATABASE_URL: url, EVENTS: queue } as unknown as Env;
  for (const eventId of ids) {
    const event = { eventId, type: 'paid', occurredAt: null, fingerprint: null, body: '{}' };
    const delivery = { source: 'bench', events: [event], headers: {}, receivedAt: new Date() };
    const { outcome } = await claimOrForward(delivery, env, () => {}, CLAIM_TIMEOUT_MS);
    if (outcome !== 'claimed') throw new Error(`a delivery was not claimed: ${outcome}`);
  }
}

function consumer({ url }: BenchDatabase, queue: CountingQueue) {
  const paid = defineHandler({ handle: ({ id }) => [effect('receipt', { invoice: id })] });
  const { queue: work } = createConsumer({
    handlers: { bench: { paid } },
    sources: {},
    effects,
    now: () => new Date(),
    random: Math.random,
    log: () => {},
    handlerMs: 30_000,
    effectMs: 10_000,
  });
  const env = { DATABASE_URL: url, EVENTS_QUEUE: 'events', EFFECTS_QUEUE: 'effects', EFFECTS: queue };
  return async (name: string, bodies: readonly unknown[], size: number) => {
    for (let at = 0; at < bodies.length; at += size) {
      const messages = bodies.slice(at, at + size).map((body, n) => ({
        id: `${at + n}`,
        timestamp: new Date(),
        attempts: 1,
        body,
        ack() {},
        retry() {
          throw new Error(`a ticket of ${name} was returned`);
        },
      }));
      const batch = { queue: name, messages } as unknown as MessageBatch;
      await work?.(batch, env as unknown as ConsumerEnv, {} as ExecutionContext);
    }
  };
}
