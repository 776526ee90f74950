// Runs once for all of your tests, and goes on running with --watch: Postgres, the Neon endpoint and the Workers.
import '../../cli/lib/fast-start.mjs';
import type { TestProject } from 'vitest/node';
import { CONFIGS } from '../../cli/config/worker-config.ts';
import { migrate } from '../../cli/database/migrations.ts';
import { unmigrated } from '../../cli/database/schema-changes.ts';
import { AGAIN, loadSources } from '../../cli/lib/app.ts';
import { freePort, LOOPBACK } from '../../cli/lib/port.ts';
import { startDatabase } from '../../cli/local/stack.ts';
import { startWorkers, type Workers } from '../../cli/local/workers.ts';
import type { ProvidedApp } from './index.ts';

/**
 * Starts everything, and returns what stops it.
 *
 * @example
 * // vitest.config.ts
 * export default defineConfig({ test: { globalSetup: 'claimcheck/testing/setup', fileParallelism: false } });
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const database = await startDatabase();
  const outsidePort = await freePort();
  const { receiver, consumer } = CONFIGS;
  let workers: Workers | undefined;
  // Only once: with --watch, this process keeps the tables as it has imported them first.
  let forgotten = await unmigrated().catch(() => undefined);

  async function start(): Promise<ProvidedApp['receiver']> {
    try {
      if (forgotten) throw new Error(forgotten);
      await workers?.harness.close();
      workers = undefined;
      await migrate(database.databaseUrl);
      // A source may be new.
      const sources = await loadSources(AGAIN());
      const outside = { url: `http://${LOOPBACK}:${outsidePort}` };
      workers = await startWorkers(
        { workerUrls: database.workerUrls, outside },
        { sources, receiver, consumer, onTestClock: true },
      );
      return { url: workers.url, secrets: workers.secrets };
    } catch (error) {
      // Not thrown: with --watch, the next save may correct it.
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }

  const provide = async () =>
    project.provide('app', { databaseUrl: database.databaseUrl, outsidePort, receiver: await start() });
  await provide();
  // Your code runs in the Workers, so they start again with what was saved.
  project.onTestsRerun(() => {
    forgotten = undefined;
    return provide();
  });
  return async () => {
    await workers?.harness.close();
    await database.stop();
  };
}
