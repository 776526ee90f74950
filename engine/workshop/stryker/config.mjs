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
  // What runs while a module is loaded is tried with every test, and takes most of the time.
  ignoreStatic: true,
  concurrency: 1,
  // A busy machine is not a loop without an end.
  timeoutMS: 20_000,
  // Stryker would rewrite it with TypeScript's API in JavaScript, which TypeScript 7 doesn't have.
  tsconfigFile: 'none',
  ignorePatterns: ['.data', 'engine/bench'],
  // As engine/workshop/run.mjs does: Stryker copies no links.
  buildCommand: 'ln -s ../workshop/node_modules engine/test/node_modules',
  tempDirName: 'node_modules/.cache/stryker',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, skipFull: true, allowEmojis: false },
};
