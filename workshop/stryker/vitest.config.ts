import { defineConfig } from 'vitest/config';

/** The tests of pure code, in Node: no Postgres, no workerd. Vite loads them, because Stryker's mutants need that. */
export default defineConfig({
  test: {
    include: [
      'test/engine/{pure,verify}/**/*.test.ts',
      'test/engine/kit/failures.test.ts',
      'test/engine/receiver/providers/handshakes.test.ts',
      'test/engine/receiver/{answers,attackers,bad-input,body,identify,log,secrets}.test.ts',
      'test/engine/local/configuration.test.ts',
    ],
    // A mutant takes a second, and not twenty: its tests load the code once, and not once for each file.
    isolate: false,
    testTimeout: 60_000,
  },
});
