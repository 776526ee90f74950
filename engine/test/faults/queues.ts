import { createServer } from 'node:http';
import { listen } from '../../cli/lib/port.ts';
import { type AdversarialQueue, openQueues } from './adversarial-queue.ts';

/** What a message holds: JSON, or bytes in base64. */
interface Content {
  readonly json?: unknown;
  readonly bytes?: string;
}

interface Message extends Content {
  readonly id: string;
  readonly timestamp: number;
  readonly attempts: number;
}

/** What a batch's consumer answers, as workerd gives it. */
export interface Settled {
  readonly outcome: string;
  readonly retryBatch: { readonly retry: boolean };
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string }[];
}

export type Consume = (queue: string, messages: readonly Message[]) => Promise<Settled>;

/** Hours in production. A test has no time, and what it checks doesn't depend on how long a message waits. */
const LONGEST_WAIT_MS = 500;

/** Half of what the fixture says, so that a message which kills its isolate is soon a dead letter. */
const MAX_RETRIES = 50;

/** One acknowledgement of fifty is lost. More would be work without end while everything else fails too. */
const REPEATS = 0.2;

/** Two batches at a time, because concurrent batches are what can go wrong. */
const CONSUMERS = 2;

/** Cloudflare's queues for Workers that run in workerd itself: in this process, so that they survive when workerd is killed. */
export class Queues {
  private readonly queues: ReadonlyMap<string, AdversarialQueue>;
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
    const settings = { maxRetries: MAX_RETRIES, repeats: REPEATS, longestWait: LONGEST_WAIT_MS };
    this.queues = openQueues(consumerConfig, settings, random, Date.now);
  }

  async start(): Promise<void> {
    this.port = await listen(this.server, 0);
    this.running = [...this.queues.values()].flatMap((queue) =>
      Array.from({ length: CONSUMERS }, () => this.work(queue)),
    );
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.running);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** How many messages wait, or are with a consumer, on all queues. */
  get unsettled(): number {
    return [...this.queues.values()].reduce((sum, { messages }) => sum + messages.length, this.inFlight);
  }

  /** What waits on a queue. It stays there. */
  waitingOn(queue: string): readonly Content[] {
    return (this.queues.get(queue)?.messages ?? []).map(({ body }) => body as Content);
  }

  /** Loses every third ticket that waits. Forwarded deliveries stay: nobody else has their events. */
  loseTickets(name: string): void {
    const contents = this.waitingOn(name);
    const queue = this.queues.get(name);
    if (queue) queue.messages = queue.messages.filter((_, index) => contents[index]?.bytes || index % 3 > 0);
  }

  /** One message as it is, or a batch as JSON: how workerd calls a queue. */
  private put(queue: string, format: string | string[] | undefined, body: Buffer): void {
    const batch = format === undefined ? (JSON.parse(body.toString()) as { messages: { body: string }[] }) : undefined;
    const contents: Content[] = batch
      ? batch.messages.map((message) => ({ json: JSON.parse(Buffer.from(message.body, 'base64').toString()) }))
      : [{ bytes: body.toString('base64') }];
    if (!batch) this.forwarded++;
    for (const content of contents) this.queues.get(queue)?.write(content);
  }

  private async work(queue: AdversarialQueue): Promise<void> {
    while (!this.stopped) {
      const taken = this.consume ? queue.take() : [];
      if (taken.length === 0 || !this.consume) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      this.inFlight += taken.length;
      const messages = taken.map(({ stored: { id, sentAt, deliveries, body } }) => {
        return { id, timestamp: sentAt, attempts: deliveries, ...(body as Content) };
      });
      // If workerd is killed, its acknowledgements are lost.
      const settled = await this.consume(queue.name, messages).catch(() => undefined);
      this.inFlight -= taken.length;
      const retried = new Set(settled?.retryMessages.map(({ msgId }) => msgId));
      for (const one of taken) {
        if (settled?.explicitAcks.includes(one.stored.id)) one.settled = 'acked';
        if (retried.has(one.stored.id)) one.settled = 0;
      }
      queue.giveBack(taken, settled?.outcome === 'ok' && !settled.retryBatch.retry);
    }
  }
}
