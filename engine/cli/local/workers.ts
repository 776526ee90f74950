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

/** The Workers in a real workerd on their own port, built as `wrangler deploy` builds them. */
export interface Workers {
  readonly url: string;
  readonly secrets: Record<string, string>;
  readonly harness: TestHarness;
  /** Runs the consumer's cron as if at this time. */
  readonly tick: (at: Date) => Promise<void>;
}

const CACHE = 'node_modules/.cache/claimcheck/workers';

export interface WorkersOptions {
  readonly sources: Readonly<Record<string, Source>>;
  /** The wrangler files. Without a consumer, events are claimed but not worked. */
  readonly receiver: string;
  readonly consumer?: string | undefined;
  readonly ops?: string | undefined;
  /** Whether the Workers use a test's clock (clock.ts). */
  readonly onTestClock?: boolean;
  /** Secrets that extend or replace the sources' random ones, and optional settings of the other Workers. */
  readonly secrets?: Record<string, string>;
}

export async function startWorkers(
  { workerUrls, outside }: Pick<Stack, 'workerUrls'> & { readonly outside: Pick<Stack['outside'], 'url'> },
  options: WorkersOptions,
): Promise<Workers> {
  // Lower levels would report every batch of the queue.
  Object.assign(process.env, OFFLINE, { WRANGLER_LOG: 'warn' });
  const secrets = { ...madeUpSecrets(options.sources), ...options.secrets };
  const read = (path: string | undefined) => (path ? readConfig(path) : undefined);
  const receiver = readConfig(options.receiver);
  const consumer = read(options.consumer);
  const ops = read(options.ops);
  const copies = Object.entries({ receiver, consumer, ops }).flatMap(([kind, config]) => {
    if (!config) return [];
    const worker = kind as WorkerKind;
    // Keep values that differ from run to run out of the copy, or each run would create another copy.
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
  // The first Worker gets HTTP.
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

/**
 * Writes a copy to a folder that depends only on its content, because checkouts may share node_modules. So it must not
 * contain secrets.
 */
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

/** Removes the second that a queue waits for a batch to fill, which tests would need for each event. */
function withoutWaiting(config: LocalConfig): LocalConfig {
  const consumers = config.queues?.consumers?.map((consumer: object) => ({ ...consumer, max_batch_timeout: 0 }));
  return { ...config, queues: { ...config.queues, consumers } };
}
