import type { Consumer, Ticket } from './queue.ts';

// Replaces Cloudflare's queue between receiver and consumer, with the settings of wrangler.consumer.toml. The
// measurement fails if the consumer returns a ticket.

const BATCH = 100;
const CONSUMERS = 10;

interface Env {
  readonly CONSUMER: Consumer;
  /** `max_batch_timeout`, in milliseconds. */
  readonly WAIT_MS: string;
}

const waiting: Ticket[] = [];
let sent = 0;
let consumers = 0;
let isCollecting = false;

export default {
  async fetch(request, { CONSUMER, WAIT_MS }, context): Promise<Response> {
    const { messages } = await request.json<{ messages: { body: string }[] }>();
    for (const message of messages) {
      waiting.push({ id: String(++sent), timestamp: new Date(), attempts: 1, body: JSON.parse(atob(message.body)) });
    }
    if (waiting.length >= BATCH) context.waitUntil(consume(CONSUMER, BATCH));
    if (!isCollecting) context.waitUntil(collect(CONSUMER, Number(WAIT_MS)));
    return Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } });
  },
} satisfies ExportedHandler<Env>;

/** Collects a batch. A batch that isn't full waits. */
async function collect(consumer: Consumer, waitMs: number): Promise<void> {
  isCollecting = true;
  if (waitMs > 0) await scheduler.wait(waitMs);
  isCollecting = false;
  await consume(consumer, 1);
}

/** If all consumers are busy, each takes the next batch when it has finished its current one. */
async function consume(consumer: Consumer, atLeast: number): Promise<void> {
  if (consumers >= CONSUMERS) return;
  consumers++;
  try {
    while (waiting.length >= atLeast) {
      const tickets = waiting.splice(0, BATCH);
      const { outcome, explicitAcks } = await consumer.queue('events', tickets);
      if (outcome !== 'ok' || explicitAcks.length !== tickets.length) throw new Error('a ticket was returned');
    }
  } finally {
    consumers--;
  }
}
