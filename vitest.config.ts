import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The Workers log every delivery; what they say matters where a test fails.
    silent: 'passed-only',
    projects: [
      {
        // Whole Workers from outside, in a workerd of their own, and what runs in Node itself.
        test: {
          name: 'node',
          include: ['test/app/**/*.test.ts', 'test/engine/{db,e2e,faults,kit,local,ops,receiver}/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Inside workerd: its WebCrypto, and the queue's own calls into the consumer.
        // The SDKs in the tests come without the sources that their maps name.
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
          // They share one database.
          fileParallelism: false,
          testTimeout: 30_000,
        },
      },
    ],
  },
});
