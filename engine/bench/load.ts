import { type Child, startChild } from './child.ts';
import type { SigningKeys } from './deliveries.ts';
import type { BenchSource } from './workers/sources.ts';

/** Deliveries to send: numbers 0 to `amount - 1` of a run. */
export interface Job {
  readonly url: string;
  readonly source: BenchSource;
  /** Default: that of the source. */
  readonly path?: string | undefined;
  readonly keys: SigningKeys;
  readonly run: string;
  readonly amount: number;
  /** Each connection sends its next delivery as soon as it has an answer. */
  readonly connections: number;
  /** Deliveries per second. Default: full speed. */
  readonly rate?: number;
  /** Sends the deliveries of the last job again, byte for byte, like a provider that has missed the answer. */
  readonly again?: boolean;
}

export interface LoadReport {
  readonly seconds: number;
  /** The time for signing all deliveries in advance, which is not part of the measurement. */
  readonly signingSeconds: number;
  /** The latency of each answer in ms. */
  readonly latencies: readonly number[];
}

export interface Answers {
  /** The number of answers by status. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface Load extends AsyncDisposable {
  /** Throws if a delivery is not answered 200. */
  send(job: Job): Promise<LoadReport>;
}

/** Starts the load generator in a separate process. */
export async function startLoad(): Promise<Load> {
  const child: Child<unknown> = await startChild('peers/load.ts');
  return {
    async send(job) {
      const { answers, ...report } = await child.ask<LoadReport & Answers>(job);
      if (answers['200'] === job.amount) return report;
      throw new Error(`not every delivery was answered 200: ${JSON.stringify(answers)}`);
    },
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  };
}
