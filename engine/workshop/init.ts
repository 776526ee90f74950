import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { buildFork, filesIn } from './init/fork.ts';

const SYNOPSIS = 'npm run init -- <name> [--empty] [--source] [--dry-run]';

const USAGE = `${SYNOPSIS}

Makes this copy of the template yours: renames it, packs the engine into vendor/, and removes what only the template's makers need.
  --empty     also without the sample app
  --source    keeps the engine's source in engine/, for a team that wants to change it
  --dry-run   prints the changes without making them`;

/** The template's name, which the fork's name replaces. */
const TEMPLATE = 'claimcheck';

/** Cloudflare allows 63 characters, and the longest derived name ends with `-effects-dead`. */
const NAME = /^[a-z][a-z0-9-]{0,48}[a-z0-9]$/;

/** Folders that `engine/workshop/run.mjs` installs and git ignores. */
const INSTALLED = ['test', 'bench', 'workshop'].map((room) => `engine/${room}/node_modules`);

/** Builds the fork in a temporary folder, so that nothing here changes before it is complete. */
export default async function main(): Promise<void> {
  const { name, empty, source, dryRun } = readArgs();
  const tracked = assertCommitted(dryRun);
  const stage = mkdtempSync(join(tmpdir(), 'claimcheck-init-'));
  try {
    buildFork(stage, tracked, { name, empty, source });
    completeFork(stage);
    const files = filesIn(stage);
    const changes = changesFrom(tracked, files, stage);
    const { removed, written } = changes;
    if (dryRun) {
      for (const path of removed) console.log(`would remove  ${path}`);
      for (const path of written) console.log(`would write   ${path}`);
      return console.log(
        `${removed.length} files would be removed and ${written.length} written. Nothing was changed.`,
      );
    }
    apply(changes, stage);
    console.log(nextSteps(name, files.length));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function readArgs() {
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = readArguments({
    usage: USAGE,
    words: 1,
    options: { empty: flag, source: flag, 'dry-run': flag },
  });
  const [name] = positionals;
  if (name === undefined) throw new UserError(SYNOPSIS);
  if (!NAME.test(name) || name === TEMPLATE) {
    throw new UserError(
      `"${name}" can't be a name: take 2 to 50 lower-case letters, digits and dashes, beginning with a letter, such as acme-hooks`,
    );
  }
  return { name, empty: values.empty, source: values.source, dryRun: values['dry-run'] };
}

/** The files that git tracks. Requires that everything is committed, so that git can show and undo what init does. */
function assertCommitted(dryRun: boolean): readonly string[] {
  const { status, stdout } = spawnSync('git', ['status', '--porcelain', '--', '.'], { encoding: 'utf8' });
  if (status !== 0 || spawnSync('git', ['rev-parse', '--verify', 'HEAD']).status !== 0) {
    throw new UserError(
      'this is not a git checkout with a commit: git init && git add --all && git commit -m "The template"',
    );
  }
  if (stdout !== '' && !dryRun) throw new UserError('there are uncommitted changes: commit or stash them first');
  return git('ls-files', '-z').split('\0').filter(existsSync);
}

/** Runs the tools that write package-lock.json and the types of the renamed Workers. */
function completeFork(stage: string): void {
  // package-lock.json already has everything that a fork needs, but npm may still ask the registry.
  const lock = 'npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error';
  if (shell(`${lock} --offline`, stage).status !== 0) {
    console.log('asking the npm registry for package-lock.json …');
    const { status, stderr } = shell(lock, stage);
    if (status !== 0)
      throw new UserError(`nothing was changed, because npm could not write package-lock.json: ${stderr}`);
  }
  const modules = join(stage, 'node_modules');
  symlinkSync(resolve('node_modules'), modules, 'junction');
  const { status, stderr } = spawnSync(process.execPath, [resolve('engine/cli/claimcheck.mjs'), 'types'], {
    cwd: stage,
    encoding: 'utf8',
  });
  if (status !== 0) throw new UserError(`nothing was changed, because claimcheck types failed: ${stderr}`);
  rmSync(modules);
  rmSync(join(stage, '.wrangler'), { recursive: true, force: true });
}

interface Changes {
  readonly removed: readonly string[];
  readonly written: readonly string[];
  readonly added: readonly string[];
}

function changesFrom(tracked: readonly string[], files: readonly string[], stage: string): Changes {
  const [before, after] = [new Set(tracked), new Set(files)];
  const isSame = (path: string) => before.has(path) && readFileSync(path).equals(readFileSync(join(stage, path)));
  const added = files.filter((path) => !before.has(path));
  const inTheWay = added.filter(existsSync);
  if (inTheWay.length > 0) {
    throw new UserError(`${inTheWay.join(', ')} would be overwritten, but git doesn't track it: move it away first`);
  }
  return {
    removed: tracked.filter((path) => !after.has(path)),
    written: files.filter((path) => !isSame(path)),
    added,
  };
}

/** Applies all changes or none. */
function apply({ removed, written, added }: Changes, stage: string): void {
  // With a listener, Ctrl-C doesn't end the process until this is done.
  const wait = () => {};
  process.on('SIGINT', wait);
  try {
    for (const path of written) cpSync(join(stage, path), path);
    for (const path of removed) rmSync(path);
  } catch (error) {
    for (const path of added) removeFile(path);
    git('checkout', '--quiet', 'HEAD', '--', '.');
    throw new UserError(`all changes were undone, because this failed: ${(error as Error).message}`);
  } finally {
    process.off('SIGINT', wait);
  }
  for (const folder of INSTALLED) rmSync(folder, { recursive: true, force: true });
  for (const path of removed) removeEmptyFolders(path);
}

/** Ignores an error, because the path may be something else, such as a folder. */
function removeFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
  removeEmptyFolders(path);
}

/** Removes folders that are now empty. Ignored files stay in theirs. */
function removeEmptyFolders(path: string): void {
  try {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) rmdirSync(folder);
  } catch {
    // The folder isn't empty or doesn't exist.
  }
}

function nextSteps(name: string, count: number): string {
  const { status, stdout } = spawnSync('git', ['remote', 'get-url', 'origin'], { encoding: 'utf8' });
  const origin =
    status === 0 ? `${stdout.trim().replace(/\/\/[^@/]*@/, '//')}: git remote set-url origin <yours>` : 'not set';
  return `This is ${name} now: ${count} files. Look at it with git status and git diff, and commit it: git add --all && git commit
Then:
  npm ci                           installs the packages of the fork
  npm run dev                      starts everything on this machine
  npm run send                     says how to send a signed sample
  README.md                        says where things are, and where the docs are
The remote origin is still ${origin}
The history is still the template's. To start your own, run before the commit: git checkout --orphan fresh
LICENSE must keep the names of the template's authors. You choose the licence of what you write.`;
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

/** Uses a shell, because npm is a shell script on Windows. */
function shell(command: string, cwd: string) {
  return spawnSync(command, { cwd, shell: true, encoding: 'utf8' });
}
