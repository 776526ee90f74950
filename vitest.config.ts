import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The Workers log every delivery. Only the lines of a failed test are of interest.
    silent: 'passed-only',
    // Most tests wait for a time limit, a queue or a process. On two cores, a third worker uses that time.
    maxWorkers: 3,
    projects: [
      {
        // Runs in Node: scripts and SQL, and whole Workers from outside, each test file with a workerd of its own.
        test: {
          name: 'node',
          include: [
            'test/app/**/*.test.ts',
            'bench/test/*.test.ts',
            'test/engine/{console,db,e2e,faults,kit,local,ops,receiver}/**/*.test.ts',
          ],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Runs inside workerd: signatures need its WebCrypto, and the consumer the queue's own calls.
        // The source maps of the SDKs name files that are not in their packages, and Vite would warn about each.
        logLevel: 'error',
        plugins: [
          cloudflareTest(({ inject }) => ({
            main: './test/engine/consumer/worker.ts',
            wrangler: { configPath: './test/engine/fixture/wrangler.consumer.toml' },
            miniflare: {
              compatibilityFlags: ['service_binding_extra_handlers'],
              bindings: {
                DATABASE_URL: inject('databaseUrl'),
                THANKS_URL: inject('outsideUrl'),
              },
            },
          })),
        ],
        test: {
          name: 'workerd',
          include: ['test/engine/{consumer,verify}/**/*.test.ts'],
          globalSetup: './test/engine/workerd-setup.ts',
          // All files share one database.
          fileParallelism: false,
          testTimeout: 30_000,
        },
      },
    ],
  },
});
