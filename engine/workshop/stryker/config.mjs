/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'engine/workshop/stryker/vitest.config.ts', related: false },
  mutate: [
    'engine/src/{shared,queue,kit,verify}/*.ts',
    'engine/src/consumer/{portions,outcomes,judge,hide-secrets,app-lines}.ts',
    'engine/src/receiver/{body,handshake,identify,secrets}.ts',
    'engine/src/ops/{input,words}.ts',
    'engine/src/db/user-statement.ts',
    'engine/cli/config/configuration.ts',
    'engine/cli/samples/sign.ts',
  ],
  // Skip code that runs while a module is loaded, because it is tried with every test and takes most of the time.
  ignoreStatic: true,
  concurrency: 1,
  // Long enough that a busy machine doesn't look like an endless loop.
  timeoutMS: 20_000,
  // Stryker would rewrite tsconfig.json with TypeScript's JavaScript API, which TypeScript 7 doesn't have.
  tsconfigFile: 'none',
  ignorePatterns: ['.data', 'engine/bench'],
  // Links the packages as engine/workshop/run.mjs does, because Stryker doesn't copy links.
  buildCommand: 'ln -s ../workshop/node_modules engine/test/node_modules',
  tempDirName: 'node_modules/.cache/stryker',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, skipFull: true, allowEmojis: false },
};
