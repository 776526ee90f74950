/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'workshop/stryker/vitest.config.ts', related: false },
  mutate: [
    'src/{shared,queue,kit,verify}/*.ts',
    'src/consumer/{batch,judge}.ts',
    'src/receiver/{body,handshake,identify,secrets}.ts',
    'src/ops/{input,words}.ts',
    'src/db/user-statement.ts',
    'scripts/ops/print.ts',
    'scripts/upgrade/plan.ts',
    'scripts/config/configuration.ts',
    'scripts/samples/sign.ts',
  ],
  // What runs while a module is loaded is tried with every test, and takes most of the time.
  ignoreStatic: true,
  concurrency: 1,
  // A busy machine is not a loop without an end.
  timeoutMS: 20_000,
  // Stryker would rewrite it with TypeScript's API in JavaScript, which TypeScript 7 doesn't have.
  tsconfigFile: 'none',
  ignorePatterns: ['.data', 'bench', 'docs'],
  tempDirName: 'node_modules/.cache/stryker',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, skipFull: true, allowEmojis: false },
};
