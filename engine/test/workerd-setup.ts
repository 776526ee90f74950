import type { TestProject } from 'vitest/node';
import { OFFLINE } from '../cli/config/worker-config.ts';
import { startStack } from '../cli/local/stack.ts';
import { createFixtureTables } from './fixture/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    ownerUrl: string;
    consumerUrl: string;
    outsideUrl: string;
  }
}

/** Tests in workerd can't start a server: Postgres is started for them, outside. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  Object.assign(process.env, OFFLINE);
  const stack = await startStack();
  await createFixtureTables(stack.databaseUrl);
  project.provide('ownerUrl', stack.databaseUrl);
  project.provide('consumerUrl', stack.workerUrls.consumer);
  project.provide('outsideUrl', stack.outside.url);
  return () => stack.stop();
}
