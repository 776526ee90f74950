import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TestHarness } from 'wrangler';
import type { Source } from '../../src/kit/index.ts';
import { madeUpSecrets } from '../config/dev-vars.ts';
import {
  loadWrangler,
  OFFLINE,
  randomSecrets,
  readConfig,
  standInVars,
  type WorkerKind,
} from '../config/worker-config.ts';
import { CLOCK_PATH } from './outside.ts';
import type { Stack } from './stack.ts';
import {
  copyIn,
  frontConfig,
  guarded,
  type LocalConfig,
  localConfig,
  onTestClock,
  valuesFor,
  writeCopy,
} from './worker-copies.ts';

/** The Workers in a real workerd, built as `wrangler deploy` builds them, on a port of their own. */
export interface Workers {
  readonly url: string;
  readonly secrets: Record<string, string>;
  readonly harness: TestHarness;
  /** Runs the consumer's cron, as if it were this time. */
  readonly tick: (at: Date) => Promise<void>;
}

const CACHE = 'node_modules/.cache/claimcheck/workers';

export interface WorkersOptions {
  readonly sources: Readonly<Record<string, Source>>;
  /** Their wrangler files. Without a consumer, events stay as they were claimed. */
  readonly receiver: string;
  readonly consumer?: string | undefined;
  readonly ops?: string | undefined;
  /** Whether their clock is that of a test: see clock.ts. */
  readonly onTestClock?: boolean;
  /** In addition to the random ones of the sources or instead of them, and what the other Workers may read. */
  readonly secrets?: Record<string, string>;
}

export async function startWorkers(
  { workerUrls, outside }: Pick<Stack, 'workerUrls'> & { readonly outside: Pick<Stack['outside'], 'url'> },
  options: WorkersOptions,
): Promise<Workers> {
  // Otherwise wrangler reports every batch of the queue.
  Object.assign(process.env, OFFLINE, { WRANGLER_LOG: 'warn' });
  const secrets = { ...madeUpSecrets(options.sources), ...options.secrets };
  const read = (path: string | undefined) => (path ? readConfig(path) : undefined);
  const receiver = readConfig(options.receiver);
  const consumer = read(options.consumer);
  const ops = read(options.ops);
  const copies = Object.entries({ receiver, consumer, ops }).flatMap(([kind, config]) => {
    if (!config) return [];
    const worker = kind as WorkerKind;
    // What differs from run to run is not in the copy, or each run would leave another one.
    const urls = standInVars(config, outside.url);
    const values = {
      DATABASE_URL: workerUrls[worker],
      ...valuesFor(worker, config, secrets),
      ...urls,
      ...(options.onTestClock && { CLOCK_URL: outside.url + CLOCK_PATH }),
    };
    const { vars = {}, ...rest } = localConfig(config, outside.url, {});
    const local = { ...rest, vars: Object.fromEntries(Object.entries(vars).filter(([name]) => !(name in urls))) };
    const timed = (folder: string, same: LocalConfig) => (options.onTestClock ? onTestClock(folder, same) : same);
    return worker === 'consumer'
      ? copyOf(withoutWaiting(local), { ...randomSecrets(config), ...values }, (folder, same) =>
          timed(folder, guarded(folder, same)),
        )
      : copyOf(local, values, timed);
  });
  // HTTP goes to the first.
  const workers = ops ? [copyOf(frontConfig(receiver, consumer, ops)), ...copies] : copies;
  const harness = loadWrangler().createTestHarness({ workers });
  const { url } = await harness.listen();
  return {
    url: url.href,
    secrets,
    harness,
    async tick(scheduledTime) {
      await harness.getWorker(consumer?.name).scheduled({ cron: '*/15 * * * *', scheduledTime });
    },
  };
}

/** The same configuration has the same copy, because checkouts may share node_modules. So it holds no secret. */
function copyOf(
  config: LocalConfig,
  secrets: Record<string, string> = {},
  change = (_folder: string, same: LocalConfig) => same,
) {
  const hash = createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16);
  const folder = join(CACHE, hash);
  writeCopy(folder, change(folder, config));
  return { configPath: copyIn(folder), secrets };
}

/** It doesn't wait a second for a batch to fill: tests would take that long for each event. */
function withoutWaiting(config: LocalConfig): LocalConfig {
  const consumers = config.queues?.consumers?.map((consumer: object) => ({ ...consumer, max_batch_timeout: 0 }));
  return { ...config, queues: { ...config.queues, consumers } };
}
