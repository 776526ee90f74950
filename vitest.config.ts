import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Your tests. They deliver events to your app as it runs on a real Postgres and in a real workerd. */
export default defineConfig({
  test: {
    name: 'app',
    include: ['test/**/*.test.ts'],
    // The path, because vitest finds no package in a folder with a # or a % in its path.
    globalSetup: fileURLToPath(import.meta.resolve('claimcheck/testing/setup')),
    // Node loads the files itself: Vite can't in a folder with a # or a % in its path. (There it warns all the same.)
    experimental: { viteModuleRunner: false },
    // All files share one database.
    fileParallelism: false,
    // A test waits for what it expects, so this ends only one that is stuck: a slow machine must not fail a test.
    testTimeout: 60_000,
    // For --watch: your code runs in workerd, so vitest doesn't see which tests use a file.
    forceRerunTriggers: ['**/{src,drizzle}/**', '**/wrangler*.toml'],
  },
});
