import { sources } from '../src/app/sources.ts';
import { checkImports } from './check/arrows.ts';
import { run, step } from './check/steps.ts';
import { assertConfigured } from './config/configuration.ts';
import { readConfigs } from './config/worker-config.ts';
import { assertMigrated } from './database/schema-changes.ts';
import { readArguments } from './lib/arguments.ts';
import { types } from './types.ts';

/** What a test run doesn't see: types, lint, the configuration, generated files, and whether the Workers build. */
export default async function main(): Promise<void> {
  readArguments({});
  const configs = readConfigs();
  const hints = await step('the wrangler files fit each other and the sources', () =>
    assertConfigured({ sources, ...configs }),
  );
  await run('types', ['tsc', '-p', '.']);
  await run('lint and format (npm run format fixes most)', ['biome', 'ci', '--colors=off', '.']);
  await step('imports between the folders', checkImports);
  for (const command of types) await run(`${command[2]} is up to date (npm run types)`, [...command, '--check']);
  await step('drizzle/app matches your tables', assertMigrated);
  for (const [worker, config] of Object.entries(configs)) {
    if (config) await run(`the ${worker} builds`, ['wrangler', 'deploy', '--dry-run', '-c', config.path]);
  }
  for (const hint of hints) console.log(`hint: ${hint}`);
}
