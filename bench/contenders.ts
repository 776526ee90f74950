import { bundle } from './bundle.ts';
import { startChild } from './child.ts';
import { cpuOf } from './cpu.ts';
import type { BenchDatabase } from './database.ts';
import { type SigningKeys, secretsFor } from './deliveries.ts';
import { startWorkerd, type Workerd } from './workerd.ts';

/** A program that receives deliveries. */
export interface Contender {
  readonly name: string;
  readonly url: string;
  /** CPU time so far, in ms, without that of Postgres. */
  cpu(): number;
  stop(): Promise<void>;
}

export function entryOf(name: 'claimcheck' | 'floor'): string {
  return `bench/workers/${name === 'floor' ? 'floor' : 'receiver'}.ts`;
}

/** The receiver (`claimcheck`) or the bare Worker (`floor`), in a workerd of its own. */
export async function startReceiver(
  name: 'claimcheck' | 'floor',
  database: BenchDatabase,
  keys: SigningKeys,
  options: { isInspected?: boolean } = {},
): Promise<Contender & Workerd> {
  const vars = { DATABASE_URL: database.url, ...secretsFor(keys) };
  const receiver = { script: bundle(entryOf(name)).script, vars, queues: { EVENTS: 'sink' } };
  const sink = { script: bundle('bench/workers/sink.ts').script };
  const workerd = await startWorkerd({ receiver, sink }, options);
  return { ...workerd, name };
}

/** Node, Express and pg, in one process. */
export async function startTextbook(
  workMs: number,
  { directUrl }: BenchDatabase,
  keys: SigningKeys,
): Promise<Contender> {
  const child = await startChild<number>('peers/express.ts', directUrl, keys.github.secret, String(workMs));
  return {
    name: `textbook, ${workMs} ms of work`,
    url: `http://127.0.0.1:${child.started}`,
    cpu: () => cpuOf(child.pid),
    stop: () => child.stop(),
  };
}
