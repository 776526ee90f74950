import type { Consumer, Ticket } from './queue.ts';

// The place of Cloudflare's queue between receiver and consumer, with the settings of wrangler.consumer.toml. A ticket that the consumer
// returns fails the measurement.

const BATCH = 100;
const TIMEOUT_MS = 1000;
const CONSUMERS = 10;

const waiting: Ticket[] = [];
let sent = 0;
let consumers = 0;
let isCollecting = false;

export default {
  async fetch(request, { CONSUMER }, context): Promise<Response> {
    const { messages } = await request.json<{ messages: { body: string }[] }>();
    for (const message of messages) {
      waiting.push({ id: String(++sent), timestamp: new Date(), attempts: 1, body: JSON.parse(atob(message.body)) });
    }
    if (waiting.length >= BATCH && consumers < CONSUMERS) context.waitUntil(consume(CONSUMER, BATCH));
    if (!isCollecting) context.waitUntil(collect(CONSUMER));
    return Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } });
  },
} satisfies ExportedHandler<{ readonly CONSUMER: Consumer }>;

/** A batch that isn't full waits. */
async function collect(consumer: Consumer): Promise<void> {
  isCollecting = true;
  await scheduler.wait(TIMEOUT_MS);
  isCollecting = false;
  await consume(consumer, 1);
}

async function consume(consumer: Consumer, atLeast: number): Promise<void> {
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
