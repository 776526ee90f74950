import { bundle } from './bundle.ts';
import { startChild } from './child.ts';
import { cpuOf } from './cpu.ts';
import type { BenchDatabase } from './database.ts';
import { type SigningKeys, secretsFor } from './deliveries.ts';
import { startWorkerd, type Workerd } from './workerd.ts';

/** A program that receives deliveries. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  /** Where its deliveries go. Default: to the source. */
  readonly path?: string;
  /** CPU time so far in ms, without Postgres. */
  cpu(): number;
}

export const TENANTS_KEY = 'the key of the tenants of the benchmark';

export function entryOf(name: 'claimcheck' | 'floor'): string {
  return `engine/bench/workers/${name === 'floor' ? 'floor' : 'receiver'}.ts`;
}

/** The receiver (`claimcheck`) or the bare Worker (`floor`), each in its own workerd. */
export async function startReceiver(
  name: 'claimcheck' | 'floor',
  database: BenchDatabase,
  keys: SigningKeys,
): Promise<Contender & Workerd> {
  const vars = { DATABASE_URL: database.url, TENANTS_KEY, ...secretsFor(keys) };
  const receiver = { script: bundle(entryOf(name)).script, vars, queues: { EVENTS: 'sink' } };
  const sink = { script: bundle('engine/bench/workers/sink.ts').script };
  const workerd = await startWorkerd({ receiver, sink });
  return { ...workerd, name };
}

/** Node and pg in one process. */
export async function startNode(
  framework: 'hono' | 'express',
  { delayedUrl }: BenchDatabase,
  keys: SigningKeys,
): Promise<Contender> {
  const child = await startChild<number>('peers/node.ts', framework, delayedUrl, keys.github.secret);
  return {
    name: framework === 'hono' ? 'Hono on Node, stores the event' : 'Express on Node, does the work',
    url: `http://127.0.0.1:${child.started}`,
    cpu: () => cpuOf(child.pid),
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  };
}

/** A Worker that only puts the event on a queue. */
export async function startQueueOnly(keys: SigningKeys): Promise<Contender> {
  const vars = secretsFor(keys);
  const script = bundle('engine/bench/workers/queue-only.ts').script;
  const sink = { script: bundle('engine/bench/workers/sink.ts').script };
  const workerd = await startWorkerd({ receiver: { script, vars, queues: { EVENTS: 'sink' } }, sink });
  return { ...workerd, name: "Cloudflare's example, queues the event" };
}
