/** What a benchmark hands back: the values of one metric, one for each round, in the order of the rounds. */
export interface Row {
  /** What is done, such as `ack, github, new events, 32 connections`. The variants of one row are compared. */
  readonly row: string;
  /** Who does it: `claimcheck`, `floor`, `textbook` … */
  readonly variant: string;
  /** With its unit, such as `events/s` or `p50 ms`. */
  readonly metric: string;
  readonly values: number[];
}

/** How long to measure. The short form only shows that everything works. */
export interface Length {
  readonly rounds: number;
  readonly seconds: number;
  /** No round begins after so many seconds: a slow machine has fewer rounds. */
  readonly maxSeconds?: number;
}

/** What one measurement found: a value for each metric. */
export type Measured = Readonly<Record<string, number>>;

/** Collects measurements, so that all values of one row, variant and metric are together. */
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

  all(): Row[] {
    return [...this.#rows.values()];
  }
}

/** Runs every task once per round. Each round begins with another one, so that none is always the first or the last. */
export async function alternate(
  rounds: number,
  tasks: readonly ((round: number) => Promise<void>)[],
  maxSeconds = Number.POSITIVE_INFINITY,
): Promise<void> {
  const end = performance.now() + maxSeconds * 1000;
  for (let round = 0; round < rounds && performance.now() < end; round++) {
    for (let n = 0; n < tasks.length; n++) await tasks[(n + round) % tasks.length]?.(round);
  }
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

/** As it is written in the names of rows. */
export function countOf(connections: number): string {
  return connections === 1 ? '1 connection' : `${connections} connections`;
}

/**
 * With 200 ms of work, the textbook's 32 connections allow at most 160 deliveries a second, and a faster server gets more
 * of them. So all get the same number, too, in equal intervals: few enough that the slowest has connections to spare.
 */
export const SAME_RATE = 100;
