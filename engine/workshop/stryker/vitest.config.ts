import { defineConfig } from 'vitest/config';

/** The tests of pure code in Node, without Postgres and workerd. Vite must load them for Stryker's mutants. */
export default defineConfig({
  plugins: [
    {
      // Memoized code runs only in the first test, so Stryker would try its mutants only with that test. The tests of
      // memoize itself get the real one.
      name: 'nothing is memoized',
      enforce: 'pre',
      resolveId: (name, importer) =>
        name.endsWith('/memoize.ts') && importer?.includes('/src/') ? '\0unmemoized' : undefined,
      load: (id) => (id === '\0unmemoized' ? 'export const memoize = (make) => make;' : undefined),
    },
  ],
  test: {
    include: [
      'engine/test/{pure,verify}/**/*.test.ts',
      'engine/test/kit/failures.test.ts',
      'engine/test/receiver/providers/handshakes.test.ts',
      'engine/test/receiver/{answers,attackers,bad-input,body,identify,log}.test.ts',
      'engine/test/local/configuration.test.ts',
    ],
    // Load the code once instead of once per test file, so that a mutant takes 1 s instead of 20 s.
    isolate: false,
    // Stryker's hooks must run for every file. Node loads modules in node_modules only once, so it would run them only
    // for the first file.
    server: { deps: { inline: [/stryker-setup/] } },
    testTimeout: 60_000,
  },
});
