// Runs once for all of your tests, and goes on running with --watch: Postgres, the Neon endpoint and the Workers.
import '../scripts/lib/fast-start.mjs';
import type { TestProject } from 'vitest/node';
import { CONFIGS } from '../scripts/config/worker-config.ts';
import { migrate } from '../scripts/database/migrations.ts';
import { freePort, LOOPBACK } from '../scripts/lib/port.ts';
import { startDatabase } from '../scripts/local/stack.ts';
import { startWorkers, type Workers } from '../scripts/local/workers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    app: ProvidedApp;
  }
}

/** What test/kit.ts has to know of it. */
interface ProvidedApp {
  readonly databaseUrl: string;
  /** Each test file starts its own stand-in for the outside on this port, because only the file knows what it answers. */
  readonly outsidePort: number;
  readonly receiver: { readonly url: string; readonly secrets: Record<string, string> } | { readonly problem: string };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const database = await startDatabase();
  const outsidePort = await freePort();
  const { receiver, consumer } = CONFIGS;
  let workers: Workers | undefined;

  async function start(): Promise<ProvidedApp['receiver']> {
    try {
      await workers?.harness.close();
      workers = undefined;
      await migrate(database.databaseUrl);
      // A source may be new. The query, because this process keeps a module that it has imported.
      const file = `${new URL('../src/app/sources.ts', import.meta.url)}?${Date.now()}`;
      const { sources } = await import(/* @vite-ignore */ file);
      const outside = { url: `http://${LOOPBACK}:${outsidePort}` };
      workers = await startWorkers({ workerUrls: database.workerUrls, outside }, { sources, receiver, consumer });
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
  project.onTestsRerun(provide);
  return async () => {
    await workers?.harness.close();
    await database.stop();
  };
}
