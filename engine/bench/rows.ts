/** A benchmark's values of one metric, one for each round, in order. */
export interface Row {
  /** The task, such as `ack, github, new events, 32 connections`. The variants of one row are compared. */
  readonly row: string;
  /** The contender: `claimcheck`, `floor`, `textbook` … */
  readonly variant: string;
  /** The metric with its unit, such as `events/s` or `p50 ms`. */
  readonly metric: string;
  readonly values: number[];
}

/** How long to measure. The short form only shows that everything works. */
export interface Length {
  readonly rounds: number;
  /** The amount of work in a round. 1 is the usual amount. */
  readonly part: number;
  /** No round begins after this time, so a slow machine has fewer rounds. */
  readonly maxSeconds?: number;
}

/** The result of one measurement: a value for each metric. */
export type Measured = Readonly<Record<string, number>>;

/** Sorts `5 ms` before `30 ms`. The sort is stable, so metrics keep their order. */
const inOrder = new Intl.Collator('en', { numeric: true });

/** Collects measurements by row, variant and metric. */
export class Rows {
  readonly #rows = new Map<string, Row>();

  add(row: string, variant: string, measured: Measured): void {
    for (const [metric, value] of Object.entries(measured)) {
      const key = JSON.stringify([row, variant, metric]);
      const found = this.#rows.get(key) ?? { row, variant, metric, values: [] };
      found.values.push(value);
      this.#rows.set(key, found);
    }
  }

  /** All rows, in an order that doesn't depend on the shuffled rounds. */
  all(): Row[] {
    return [...this.#rows.values()].sort(
      (a, b) => inOrder.compare(a.row, b.row) || inOrder.compare(a.variant, b.variant),
    );
  }
}

/**
 * Runs every task once per round in a new order each time, so that a task's after-effects don't always hit the same
 * task.
 */
export async function alternate(
  rounds: number,
  tasks: readonly ((round: number) => Promise<void>)[],
  maxSeconds = Number.POSITIVE_INFINITY,
): Promise<void> {
  const end = performance.now() + maxSeconds * 1000;
  for (let round = 0; round < rounds && performance.now() < end; round++) {
    for (const task of shuffled(tasks)) await task(round);
  }
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/**
 * Combines all rounds, which have the same work, to one figure. Rates and costs are totals, so that a garbage
 * collection in one round counts fully. Percentiles are the median of the rounds.
 */
export function overall(metric: string, values: readonly number[]): number {
  if (/^p\d+ /.test(metric)) return median(values);
  const mean = (all: readonly number[]) => all.reduce((sum, value) => sum + value, 0) / all.length;
  return metric.endsWith('/s') ? 1 / mean(values.map((value) => 1 / value)) : mean(values);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [upper = Number.NaN, lower = upper] = [sorted[middle], sorted[middle - 1]];
  return sorted.length % 2 === 1 ? upper : (lower + upper) / 2;
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** Milliseconds from the receiver to Postgres and back: within a rack, a city or a country, or across an ocean. */
export const DISTANCES = [1, 5, 30, 80] as const;

export function waitRow(ms: number): string {
  return `wait for the 200, GitHub, ${ms} ms from Postgres`;
}

/** The number of connections at full speed. Each sends its next delivery after an answer. */
export const CONNECTIONS = 32;

/** How long the queue waits for a batch to fill: `max_batch_timeout`, in milliseconds. */
export const WAITS = [0, 50, 1000] as const;

/** Deliveries per second at a low and a moderate rate. */
export const RATES = [10, 100] as const;
export function throughRow(rate?: number): string {
  return `from the delivery to the completion, ${rate === undefined ? `${CONNECTIONS} connections` : `${rate} a second`}`;
}

export function waitName(ms: number): string {
  return `max_batch_timeout = ${ms / 1000}`;
}

/** The distance of Postgres, in ms, while events of one order key are worked. */
export const LINE_MS = 5;
export const LINE_ROW = `events of one order key, ${LINE_MS} ms from Postgres`;
