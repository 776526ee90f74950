import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { readConfig } from '../../../scripts/config/worker-config.ts';
import { listen } from '../../../scripts/lib/port.ts';

interface Message {
  readonly id: string;
  readonly timestamp: number;
  readonly json?: unknown;
  /** Base64. */
  readonly bytes?: string;
  attempts: number;
  visibleAt: number;
}

/** What a batch's consumer answers, as workerd gives it. */
export interface Settled {
  readonly outcome: string;
  readonly ackAll: boolean;
  readonly retryBatch: { readonly retry: boolean; readonly delaySeconds?: number };
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string; readonly delaySeconds?: number }[];
}

export type Consume = (queue: string, messages: readonly Message[]) => Promise<Settled>;

interface QueueSettings {
  readonly queue: string;
  readonly max_batch_size: number;
  readonly dead_letter_queue?: string;
}

/** Hours in production. A test has no time, and what it checks doesn't depend on how long a message waits. */
const LONGEST_WAIT_MS = 500;

/** Half of what the fixture says, so that a message which kills its isolate is soon a dead letter. */
const MAX_RETRIES = 50;

/** Two batches at a time, because concurrent batches are what can go wrong. */
const CONSUMERS = 2;

/** The share of messages that are delivered once more although they were acknowledged: a queue promises at least once. */
const LOST_ACKS = 0.02;

/**
 * Cloudflare's queues for Workers that run in workerd itself: in memory, but in this process, so that they survive when
 * workerd is killed. Unlike Miniflare's, they keep an acknowledgement although the batch throws afterwards, as
 * production does, and they lose some on purpose.
 */
export class Queues {
  private readonly waiting = new Map<string, Message[]>();
  private readonly settings: readonly QueueSettings[];
  private readonly random: () => number;
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      this.put(String(request.headers['x-queue']), request.headers['x-msg-fmt'], Buffer.concat(chunks));
      const metrics = { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: 0 };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ metadata: { metrics } }));
    });
  });
  private running: Promise<void>[] = [];
  private stopped = false;
  private inFlight = 0;
  port = 0;
  /** Who gets the next batch. While it is undefined, messages wait. */
  consume: Consume | undefined;
  /** How many messages came with bytes: forwarded deliveries. */
  forwarded = 0;

  constructor(consumerConfig: string, random: () => number) {
    this.settings = readConfig(consumerConfig).raw.queues?.consumers as QueueSettings[];
    this.random = random;
  }

  async start(): Promise<void> {
    this.port = await listen(this.server, 0);
    const loops = this.settings.flatMap((settings) => Array.from({ length: CONSUMERS }, () => this.work(settings)));
    this.running = loops;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.running);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** How many messages wait, or are with a consumer, on all queues. */
  get unsettled(): number {
    return [...this.waiting.values()].reduce((sum, { length }) => sum + length, this.inFlight);
  }

  /** The messages that wait on a queue. They stay there. */
  waitingOn(queue: string): readonly Message[] {
    return this.messagesOf(queue);
  }

  /** Loses every third ticket that waits. Forwarded deliveries stay: nobody else has their events. */
  loseTickets(queue: string): void {
    const messages = this.messagesOf(queue).filter(({ bytes }, index) => bytes !== undefined || index % 3 > 0);
    this.waiting.set(queue, messages);
  }

  private messagesOf(queue: string): Message[] {
    const messages = this.waiting.get(queue) ?? [];
    this.waiting.set(queue, messages);
    return messages;
  }

  /** One message as it is, or a batch as JSON: how workerd calls a queue. */
  private put(queue: string, format: string | string[] | undefined, body: Buffer): void {
    const batch = format === undefined ? (JSON.parse(body.toString()) as { messages: { body: string }[] }) : undefined;
    const contents = batch
      ? batch.messages.map((message) => ({ json: JSON.parse(Buffer.from(message.body, 'base64').toString()) }))
      : [{ bytes: body.toString('base64') }];
    if (!batch) this.forwarded++;
    for (const content of contents) {
      this.messagesOf(queue).push({ id: randomUUID(), timestamp: Date.now(), ...content, attempts: 0, visibleAt: 0 });
    }
  }

  private async work(settings: QueueSettings): Promise<void> {
    while (!this.stopped) {
      const batch = this.consume ? this.take(settings) : [];
      if (batch.length === 0 || !this.consume) await new Promise((resolve) => setTimeout(resolve, 20));
      else await this.deliver(settings, batch, this.consume);
    }
  }

  private take({ queue, max_batch_size }: QueueSettings): Message[] {
    const all = this.messagesOf(queue);
    const now = Date.now();
    const batch = all.filter(({ visibleAt }) => visibleAt <= now).slice(0, max_batch_size);
    const taken = new Set(batch);
    this.waiting.set(
      queue,
      all.filter((message) => !taken.has(message)),
    );
    for (const message of batch) message.attempts++;
    return batch;
  }

  private async deliver(settings: QueueSettings, batch: readonly Message[], consume: Consume): Promise<void> {
    // If workerd is killed, its acknowledgements are lost.
    this.inFlight += batch.length;
    const settled = await consume(settings.queue, batch).catch(() => undefined);
    this.inFlight -= batch.length;
    const acked = new Set(settled?.explicitAcks);
    const retried = new Set(settled?.retryMessages.map(({ msgId }) => msgId));
    const failed = settled === undefined || settled.outcome !== 'ok' || settled.retryBatch.retry;
    for (const message of batch) {
      const again = retried.has(message.id) || (failed && !acked.has(message.id)) || this.random() < LOST_ACKS;
      if (!again) continue;
      const dead = message.attempts > MAX_RETRIES ? settings.dead_letter_queue : undefined;
      if (dead === undefined) message.visibleAt = Date.now() + this.random() * LONGEST_WAIT_MS;
      else message.attempts = 0;
      this.messagesOf(dead ?? settings.queue).push(message);
    }
  }
}
