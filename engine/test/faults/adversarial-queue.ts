import { readConfig } from '../../cli/config/worker-config.ts';
import { memoize } from '../../src/shared/memoize.ts';

/** A message as the queue keeps it. */
export interface Stored {
  readonly id: string;
  readonly body: unknown;
  readonly sentAt: number;
  /** In milliseconds: it is not delivered before. */
  visibleAt: number;
  deliveries: number;
}

/** A message as a consumer gets it, and what became of it: acknowledged, or asked for again after some seconds. */
export interface Taken {
  readonly stored: Stored;
  settled: 'acked' | number | undefined;
}

export interface QueueOptions {
  readonly name: string;
  readonly maxBatchSize: number;
  /** After this many deliveries beyond the first, a message moves to the dead letter queue. */
  readonly maxRetries: number;
  readonly dead?: AdversarialQueue;
  /** From 0 to 1: how much it delivers twice and loses acknowledgements. That hides a message that the code itself loses. */
  readonly repeats: number;
  /** In milliseconds. Everything waits at most this long, for tests whose clock is the real one. */
  readonly longestWait?: number;
}

type Settings = Pick<QueueOptions, 'maxRetries' | 'repeats' | 'longestWait'>;

/** By name: the queues of the consumer's wrangler file, in which the dead letter queues are the last ones. */
export function openQueues(
  config: string,
  { maxRetries, ...settings }: Settings,
  random: () => number,
  now: () => number,
): ReadonlyMap<string, AdversarialQueue> {
  const queues = new Map<string, AdversarialQueue>();
  for (const { queue: name, max_batch_size = 0, dead_letter_queue = '' } of consumersOf(config).toReversed()) {
    const dead = queues.get(dead_letter_queue);
    const retries = dead ? { dead, maxRetries } : { maxRetries: Number.POSITIVE_INFINITY };
    queues.set(
      name,
      new AdversarialQueue({ name, maxBatchSize: max_batch_size, ...retries, ...settings }, random, now),
    );
  }
  return queues;
}

/** Thousands of trials open them. */
const consumersOf = memoize((config: string) => readConfig(config).raw.queues?.consumers ?? []);

const SECOND = 1000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

/** How long a message may take, and how likely that is. One in ten takes longer than the sweep waits for it. */
const DELAYS: readonly (readonly [share: number, ms: number])[] = [
  [0.6, 5 * SECOND],
  [0.9, MINUTE],
  [0.98, 20 * MINUTE],
  [1, 3 * HOUR],
];

/** Three tickets in ten are delivered twice, and one acknowledgement in ten is lost. */
const DOUBLED = 0.3;
const LOST = 0.1;
/** Every second batch that fails takes its acknowledgements along. */
const FORGOTTEN = 0.5;

/** A queue that does everything that Cloudflare's may do: it delivers late and in any order, twice, and forgets acks. */
export class AdversarialQueue {
  readonly name: string;
  messages: Stored[] = [];
  readonly #options: QueueOptions;
  readonly #random: () => number;
  readonly #now: () => number;
  #sent = 0;

  constructor(options: QueueOptions, random: () => number, now: () => number) {
    this.name = options.name;
    this.#options = options;
    this.#random = random;
    this.#now = now;
  }

  write(body: unknown): void {
    const copies = this.#happens(DOUBLED) ? 2 : 1;
    // Both at the same moment, so that two consumers may work the same event side by side.
    const visibleAt = this.#now() + this.#wait();
    for (let copy = 0; copy < copies; copy++) {
      const id = `${this.name} ${++this.#sent}`;
      this.messages.push({ id, body: structuredClone(body), sentAt: this.#now(), visibleAt, deliveries: 0 });
    }
  }

  get visible(): Stored[] {
    return this.messages.filter(({ visibleAt }) => visibleAt <= this.#now());
  }

  /** Some of the visible messages, in any order. They are nobody else's until they are given back. */
  take(): Taken[] {
    const visible = this.visible.map((stored) => ({ stored, order: this.#random() }));
    const count = 1 + Math.floor(this.#random() * Math.min(visible.length, this.#options.maxBatchSize));
    const taken = visible.sort((a, b) => a.order - b.order).slice(0, count);
    this.messages = this.messages.filter((stored) => !taken.some((one) => one.stored === stored));
    for (const { stored } of taken) stored.deliveries++;
    return taken.map(({ stored }) => ({ stored, settled: undefined }));
  }

  /**
   * The run that took the messages is over. If it failed, what it didn't settle comes again, and so does perhaps what
   * it did: local queues forget the acks of a failed batch, and those of an isolate that died may not have arrived.
   */
  giveBack(batch: readonly Taken[], succeeded: boolean): void {
    const forgetsAll = !succeeded && this.#happens(FORGOTTEN);
    for (const { stored, settled } of batch) {
      const outcome = forgetsAll ? undefined : settled;
      const isAcked = outcome === 'acked' || (outcome === undefined && succeeded);
      if (isAcked && !this.#happens(LOST)) continue;
      const visibleAt = this.#now() + this.#wait(typeof outcome === 'number' ? outcome : undefined);
      this.#again({ ...stored, visibleAt });
    }
  }

  #again(stored: Stored): void {
    const { maxRetries, dead } = this.#options;
    if (stored.deliveries <= maxRetries) this.messages.push(stored);
    else dead?.messages.push({ ...stored, deliveries: 0 });
  }

  #happens(share: number): boolean {
    return this.#random() < share * this.#options.repeats;
  }

  #wait(seconds?: number): number {
    const { longestWait } = this.#options;
    if (longestWait !== undefined) return this.#random() * longestWait;
    if (seconds !== undefined) return seconds * SECOND;
    const chance = this.#random();
    const longest = DELAYS.find(([share]) => chance < share)?.[1] ?? HOUR;
    return Math.floor(this.#random() * longest);
  }
}
