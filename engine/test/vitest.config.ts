import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';

// The tests of the template: the app's (vitest.config.ts), which are all that a fork has, and the engine's. Paths begin at the
// root of the repository.

/** In every test file: what the code under test puts out is searched for secrets, bodies and the like. */
const SEARCH_LOGS = './engine/test/canaries/console.ts';
const SEARCH_ANSWERS = './engine/test/canaries/fetch.ts';

/** After every test file: commands that a failed test has left behind are ended. */
const END_CHILDREN = './engine/test/end-children.ts';

/** A test waits for what it expects, so these end only one that is stuck: a slow machine must not fail a test. */
const TIMEOUTS = { testTimeout: 180_000, hookTimeout: 180_000 };

/** Compiled code of the commands that tests run. In node_modules it would stay, though the copies of the checkout are soon gone. */
const COMPILED = join(tmpdir(), `claimcheck-compiled-${process.pid}`);
process.once('exit', () => rmSync(COMPILED, { recursive: true, force: true }));

const IN_NODE = {
  setupFiles: [END_CHILDREN, SEARCH_LOGS, SEARCH_ANSWERS],
  // Times without a zone are in UTC, wherever somebody is. In the year 1, towns are seconds away from a whole minute, which
  // Postgres's drivers cut off.
  env: { NODE_COMPILE_CACHE: COMPILED, TZ: 'Etc/GMT+5' },
  execArgv: ['--import', './engine/cli/lib/fast-start.mjs', '--import', './engine/test/loader.ts'],
  // Node loads the files itself: Vite can't in a folder with a # or a % in its path.
  experimental: { viteModuleRunner: false },
  ...TIMEOUTS,
};

export default defineConfig({
  test: {
    // The Workers log every delivery. Only the lines of a failed test are of interest.
    silent: 'passed-only',
    // Most tests wait for a time limit, a queue or a process. On two cores, a third worker uses that time.
    maxWorkers: 3,
    projects: [
      './vitest.config.ts',
      {
        // Runs in Node: scripts and SQL, and whole Workers from outside, each test file with a workerd of its own.
        test: {
          name: 'node',
          include: [
            'engine/bench/test/*.test.ts',
            'engine/test/{canaries,cron,db,e2e,kit,local,ops,ops-worker,pure,receiver,setup,upgrade}/**/*.test.ts',
          ],
          globalSetup: './engine/test/node-setup.ts',
          // The files of one process share what they import: loading it takes as long as many files do.
          isolate: false,
          ...IN_NODE,
        },
      },
      {
        // Runs with `npm run -w engine faults`, which says in which form. `npm test` leaves it out.
        test: {
          name: 'faults',
          include: ['engine/test/faults/**/*.test.ts'],
          ...IN_NODE,
        },
      },
      {
        // Runs inside workerd: signatures need its WebCrypto, and the consumer the queue's own calls.
        // The source maps of the SDKs name files that are not in their packages, and Vite would warn about each.
        logLevel: 'error',
        plugins: [
          cloudflareTest(({ inject }) => ({
            main: './engine/test/consumer/worker.ts',
            wrangler: { configPath: './engine/test/fixture/wrangler.consumer.toml' },
            miniflare: {
              compatibilityFlags: ['service_binding_extra_handlers'],
              bindings: {
                DATABASE_URL: inject('consumerUrl'),
                OWNER_URL: inject('ownerUrl'),
                THANKS_URL: inject('outsideUrl'),
              },
            },
          })),
        ],
        test: {
          name: 'workerd',
          include: ['engine/test/{consumer,verify}/**/*.test.ts'],
          globalSetup: './engine/test/workerd-setup.ts',
          // Only the code under test calls the outside here, and what it sends there is not an answer.
          setupFiles: SEARCH_LOGS,
          // All files share one database.
          fileParallelism: false,
          isolate: false,
          // After the files that run at the same time.
          sequence: { groupOrder: 1 },
          ...TIMEOUTS,
        },
      },
    ],
  },
});
