import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TestHarness } from 'wrangler';
import type { Source } from '../../src/kit/index.ts';
import { loadWrangler, randomSecrets, readConfig, standInVars } from './config.ts';
import { madeUpSecrets } from './dev-vars.ts';
import { OFFLINE } from './offline.ts';
import type { Outside } from './outside.ts';
import type { Stack } from './stack.ts';

/** Both Workers in a real workerd, built as `wrangler deploy` builds them, on a port of their own. */
export interface Workers {
  readonly url: string;
  readonly secrets: Record<string, string>;
  readonly harness: TestHarness;
  /** Runs the receiver's cron, as if it were this time. */
  readonly tick: (at: Date) => Promise<void>;
}

const CACHE = 'node_modules/.cache/claimcheck';

export interface WorkersOptions {
  readonly sources: Readonly<Record<string, Source>>;
  /** Their wrangler files. Without a consumer, events stay as they were claimed. */
  readonly receiver: string;
  readonly consumer?: string | undefined;
  /** Secrets of the receiver, in addition to the random ones or instead of them. */
  readonly secrets?: Record<string, string>;
}

export async function startWorkers(
  { workerUrls, outside }: Pick<Stack, 'workerUrls' | 'outside'>,
  { sources, receiver, consumer, secrets: overrides = {} }: WorkersOptions,
): Promise<Workers> {
  // Otherwise wrangler reports every batch of the queue.
  Object.assign(process.env, OFFLINE, { WRANGLER_LOG: 'warn' });
  const secrets = { ...madeUpSecrets(sources), ...overrides };
  const receiverName = readConfig(receiver).name;
  const harness = loadWrangler().createTestHarness({
    workers: [
      { configPath: receiver, secrets: { DATABASE_URL: workerUrls.receiver, ...secrets } },
      ...(consumer ? [consumerOptions(consumer, workerUrls.consumer, outside)] : []),
    ],
  });
  const { url } = await harness.listen();
  return {
    url: url.href,
    secrets,
    harness,
    async tick(scheduledTime) {
      await harness.getWorker(receiverName).scheduled({ cron: '*/15 * * * *', scheduledTime });
    },
  };
}

/** The consumer as its file says, but it doesn't wait a second for a batch to fill: tests would take that long per event. */
function consumerOptions(path: string, databaseUrl: string, outside: Outside) {
  const config = readConfig(path);
  const consumers = config.raw.queues?.consumers?.map((consumer: object) => ({ ...consumer, max_batch_timeout: 0 }));
  const main = resolve(dirname(path), config.main);
  const copy = JSON.stringify({ ...config.raw, main, queues: { ...config.raw.queues, consumers } });
  // Checkouts may share node_modules, and the same file has the same copy.
  const configPath = join(CACHE, `consumer-${createHash('sha256').update(copy).digest('hex').slice(0, 16)}.json`);
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(configPath, copy);
  return {
    configPath,
    secrets: { DATABASE_URL: databaseUrl, ...randomSecrets(config) },
    vars: standInVars(config, outside.url),
  };
}
