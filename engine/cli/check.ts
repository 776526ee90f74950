import { spawnSync } from 'node:child_process';
import {
  assertConfigured,
  differencesBetween,
  sharedByEnvironments,
  typesWithoutHandler,
} from './config/configuration.ts';
import { problemsInDevVars } from './config/dev-vars.ts';
import { handlerProblems } from './config/handler-problems.ts';
import { unconfirmedNotes } from './config/notes.ts';
import { allEnvironments, readConfigs, wranglerArguments } from './config/worker-config.ts';
import { assertMigrated } from './database/schema-changes.ts';
import { folderOf, loadHandlers, loadSources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { types } from './types.ts';

const USAGE = `npm run check

Checks what tests don't cover: the wrangler files, types, lint, imports, generated files, migrations, and whether the
Workers build. It changes nothing and needs no network.`;

/** Checks what tests don't cover: types, lint, the configuration, generated files, and whether the Workers build. */
export default async function main(): Promise<void> {
  readArguments({ usage: USAGE });
  const notes = unconfirmedNotes();
  if (notes !== undefined) {
    await step('the notes of this version of claimcheck are confirmed', () => {
      if (notes !== '') throw new UserError(notes);
    });
  }
  const environments = allEnvironments().map((name) => readConfigs(name));
  const [configs = readConfigs()] = environments;
  const sources = await loadSources();
  const failed: string[] = [];
  // A failing part must not hide other failures.
  const part = <Result>(done: Promise<Result>) =>
    done.catch((error) => {
      if (!(error instanceof UserError)) throw error;
      failed.push(error.message);
      return undefined;
    });
  const checked = step('the wrangler files fit each other and the sources', () => {
    const [found = []] = environments.map((each) => assertConfigured({ sources, ...each }));
    const problems = [...sharedByEnvironments(environments), ...differencesBetween(environments)];
    if (problems.length > 0) throw new UserError(problems.join('\n'));
    return found;
  });
  const hints = (await part(checked)) ?? [];
  await part(run('types', ['tsc', '-p', '.']));
  await part(run('lint and format (npm run format fixes most)', ['biome', 'ci', '--colors=off', '.']));
  for (const command of types())
    await part(run(`${command[2]} is up to date (npm run types)`, [...command, '--check']));
  await part(step('drizzle matches your tables', assertMigrated));
  for (const [worker, config] of Object.entries(configs)) {
    const build = ['wrangler', 'deploy', '--dry-run', ...(config ? wranglerArguments(config) : [])];
    if (config) await part(run(`the ${worker} builds`, build));
  }
  if (failed.length > 0) throw new UserError(failed.join('\n'));
  // Load the handlers last: if that fails, the checks above have already said why.
  const handlers = await loadHandlers();
  const problems = handlerProblems(handlers);
  if (problems.length > 0) throw new UserError(problems.join('\n'));
  for (const hint of [...hints, ...(await problemsInDevVars(sources)), ...typesWithoutHandler(sources, handlers)])
    console.log(`hint: ${hint}`);
}

/** Runs one part of a check and prints a line if it passes. */
export async function step<Result>(title: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    const result = await work();
    console.log(`ok  ${title}`);
    return result;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`failed at ${title}\n${error.message}`);
  }
}

/** Runs a program as a part of a check. Its output is shown only if it fails. */
export async function run(title: string, [program = '', ...args]: readonly string[]): Promise<void> {
  await step(title, () => {
    const { status, stdout, stderr, error } = spawnSync(
      program.includes('/') ? program : folderOf(`.bin/${program}`),
      args,
      {
        encoding: 'utf8',
        // Without an input, a program that asks a question fails instead of waiting.
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    if (error) throw new UserError(`${program} can't be started (${error.message}): npm ci installs it`);
    if (status !== 0) throw new UserError((stdout + stderr).trim());
  });
}
