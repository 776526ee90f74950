import type { DeliveryCount } from '../db/deliveries.ts';

/** Often enough for a graph of a day, and one small statement beside all the claims of a minute. */
const FLUSH_EVERY_MS = 60_000;

/**
 * Counts deliveries by source and outcome, for the metrics. An isolate counts in its memory and adds its counts to
 * Postgres once a minute, and only when it has just used Postgres anyway: refused deliveries alone never wake an idle
 * database. What an isolate has counted since the last time is lost when it ends.
 */
export class DeliveryCounts {
  readonly #counts = new Map<string, DeliveryCount>();
  #flushedAt: number | undefined;

  add(source: string, outcome: string, now: Date, count = 1): void {
    const key = JSON.stringify([source, outcome]);
    const before = this.#counts.get(key)?.count ?? 0;
    this.#counts.set(key, { source, outcome, count: before + count });
    this.#flushedAt ??= now.getTime();
  }

  isTime(now: Date): boolean {
    return this.#flushedAt !== undefined && now.getTime() - this.#flushedAt >= FLUSH_EVERY_MS;
  }

  /** Hands the counts to `write`. If that fails, they are counted again. */
  async flush(now: Date, write: (counts: readonly DeliveryCount[]) => Promise<void>): Promise<void> {
    this.#flushedAt = now.getTime();
    const counts = [...this.#counts.values()];
    this.#counts.clear();
    try {
      await write(counts);
    } catch {
      for (const { source, outcome, count } of counts) this.add(source, outcome, now, count);
    }
  }
}
