import { createTestHarness, type TestHarness } from 'wrangler';
import { madeUpSecrets } from './dev-vars.ts';
import { OFFLINE } from './offline.ts';
import type { Stack } from './stack.ts';

/** Both Workers in a real workerd, as `wrangler deploy` would build them, on a port of their own. */
export interface Workers {
  readonly url: string;
  readonly secrets: Record<string, string>;
  readonly harness: TestHarness;
}

export interface WorkersOptions {
  /** Secrets of the receiver, beside those made up or instead of them. */
  readonly secrets?: Record<string, string>;
  /** Another consumer than the deployed one. */
  readonly consumer?: string;
}

export async function startWorkers(
  { databaseUrl, outside }: Pick<Stack, 'databaseUrl' | 'outside'>,
  { secrets: overrides = {}, consumer = 'wrangler.consumer.toml' }: WorkersOptions = {},
): Promise<Workers> {
  // wrangler would report every batch of the queue.
  Object.assign(process.env, OFFLINE, { WRANGLER_LOG: 'warn' });
  const secrets = { ...madeUpSecrets(), ...overrides };
  const harness = createTestHarness({
    workers: [
      { configPath: 'wrangler.toml', secrets: { DATABASE_URL: databaseUrl, ...secrets } },
      {
        configPath: consumer,
        secrets: { DATABASE_URL: databaseUrl },
        vars: { RECEIPTS_URL: outside.url, GITHUB_API_URL: outside.url },
      },
    ],
  });
  const { url } = await harness.listen();
  return { url: url.href, secrets, harness };
}
