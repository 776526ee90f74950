import { defineConfig } from 'vitest/config';

/** The tests of pure code, in Node: no Postgres, no workerd. Vite loads them, because Stryker's mutants need that. */
export default defineConfig({
  plugins: [
    {
      // What is memoized runs in the first test only, and Stryker would try its mutants with no other. Tests of memoize
      // itself get the real one.
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
    // A mutant takes a second, and not twenty: its tests load the code once, and not once for each file.
    isolate: false,
    // Stryker's hooks belong to every file. Node, which loads what is in node_modules, would run them for the first only.
    server: { deps: { inline: [/stryker-setup/] } },
    testTimeout: 60_000,
  },
});
