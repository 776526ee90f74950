import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import config from '../drizzle.config.ts';
import { UserError } from './local/user-error.ts';
import { types } from './types.ts';

/** What a test run doesn't see: types, lint, generated files that have fallen behind, and whether both Workers build. */
export default async function main(): Promise<void> {
  const deploy = ['wrangler', 'deploy', '--dry-run', '--outdir', 'node_modules/.cache/claimcheck/bundle', '-c'];
  step('types', ['tsc', '-p', '.']);
  step('lint and format (npm run format mends)', ['biome', 'ci', '--colors=off', '.']);
  for (const command of types) step(`${command[2]} is up to date (npm run types mends)`, [...command, '--check']);
  step('docs/providers.md is up to date (npm run docs:providers mends)', [
    'node',
    'scripts/run.mjs',
    'docs-providers',
    '--check',
  ]);
  await checkMigrations();
  step('the receiver builds', [...deploy, 'wrangler.toml']);
  step('the consumer builds', [...deploy, 'wrangler.consumer.toml']);
}

function step(title: string, [program = '', ...args]: string[]): void {
  const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', program), args, {
    encoding: 'utf8',
    // A program that wants to ask something has found something: it gets no answer, and fails.
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status !== 0) {
    console.error(stdout + stderr);
    throw new UserError(`failed at ${title}`);
  }
  console.log(`ok  ${title}`);
}

/** What drizzle-kit would generate now: anything at all is a migration that somebody forgot. */
async function checkMigrations(): Promise<void> {
  const files = await Promise.all([config.schema ?? []].flat().map((file) => import(`../${file}`)));
  const newest = readdirSync('drizzle/meta')
    .filter((name) => name.endsWith('_snapshot.json'))
    .sort()
    .at(-1);
  const snapshot = JSON.parse(readFileSync(`drizzle/meta/${newest}`, 'utf8'));
  const now = generateDrizzleJson(Object.assign({}, ...files), snapshot.id);
  const missing = await generateMigration(snapshot, now);
  if (missing.length > 0) throw new UserError('the schema has changed: npm run db:generate, and commit what it writes');
  console.log('ok  the migrations match the schema');
}
