import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sources } from '../src/app/sources.ts';
import { readArguments } from './local/arguments.ts';
import { checkImports } from './local/arrows.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG, readConfig } from './local/config.ts';
import { assertConfigured } from './local/configuration.ts';
import { assertLicensed, packagesIn } from './local/licences.ts';
import { unmigrated } from './local/schema-changes.ts';
import { UserError } from './local/user-error.ts';
import { types } from './types.ts';

const BUNDLE = 'node_modules/.cache/claimcheck/bundle';
const META = `${BUNDLE}/meta.json`;

/**
 * What a test run doesn't see: types, lint, the configuration, generated files, whether both Workers build, and the
 * licences of what is in them.
 */
export default async function main(): Promise<void> {
  readArguments({});
  const deploy = ['wrangler', 'deploy', '--dry-run', '--outdir', BUNDLE, '--metafile', META, '-c'];
  const configuration = { sources, receiver: readConfig(RECEIVER_CONFIG), consumer: readConfig(CONSUMER_CONFIG) };
  const hints = step('the wrangler files fit each other and the sources', () => assertConfigured(configuration));
  run('types', ['tsc', '-p', '.']);
  run('lint and format (npm run format fixes most)', ['biome', 'ci', '--colors=off', '.']);
  step('imports between the folders', checkImports);
  for (const command of types) run(`${command[2]} is up to date (npm run types)`, [...command, '--check']);
  const docs = ['node', 'scripts/run.mjs', 'docs-providers', '--check'];
  run('docs/providers.md is up to date (npm run docs:providers)', docs);
  const missing = await unmigrated();
  step('the migrations match the tables', () => {
    if (missing) throw new UserError(missing);
  });
  for (const [worker, config] of [
    ['receiver', RECEIVER_CONFIG],
    ['consumer', CONSUMER_CONFIG],
  ] as const) {
    run(`the ${worker} builds`, [...deploy, config]);
    const packages = packagesIn(JSON.parse(readFileSync(META, 'utf8')));
    const names = packages.map(({ name }) => name).join(', ');
    step(`the licences of the packages in the ${worker} (${names})`, () => assertLicensed(packages));
  }
  for (const hint of hints) console.log(`hint: ${hint}`);
}

function step<Result>(title: string, work: () => Result): Result {
  try {
    const result = work();
    console.log(`ok  ${title}`);
    return result;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`failed at ${title}\n${error.message}`);
  }
}

function run(title: string, [program = '', ...args]: string[]): void {
  step(title, () => {
    const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', program), args, {
      encoding: 'utf8',
      // A program that asks a question gets no answer, and fails.
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (status !== 0) throw new UserError((stdout + stderr).trim());
  });
}
