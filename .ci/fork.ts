// Proves that the template becomes somebody's own: makes a fork as the README says, and runs the README's own code in it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const readme = readFileSync('README.md', 'utf8');
const fork = join(mkdtempSync(join(tmpdir(), 'acme-')), 'acme-hooks');

try {
  git('.', 'clone', '--quiet', '.', fork);
  run('npm', 'ci');
  run('npm', 'run', 'init', '--', 'acme-hooks', '--dry-run');
  expectFailure("can't be a name", 'npm', 'run', 'init', '--', 'Acme Hooks');
  writeFileSync(join(fork, 'note.txt'), 'not committed');
  expectFailure('there are uncommitted changes', 'npm', 'run', 'init', '--', 'acme-hooks');
  rmSync(join(fork, 'note.txt'));
  if (git(fork, 'status', '--porcelain') !== '')
    throw new Error('init has changed files that it should not have changed');

  run('npm', 'run', 'init', '--', 'acme-hooks', '--empty');
  commit('made ours');
  expectFailure('this is acme-hooks already', 'npm', 'run', 'init', '--', 'acme-again');
  run('npm', 'run', 'check');
  run('npx', 'vitest', 'run', 'test/app');
  run('npm', 'run', 'demo');

  followReadme();
  run('npm', 'run', 'db:generate');
  run('npm', 'run', 'types');
  commit('a source, a table, an effect, a handler and their test, as in the README');
  run('npm', 'run', 'check');
  // All tests have just run in the template, and a fork changes none of the code that most of them are about. These use
  // what it changes: the package, the wrangler files, the migrations and src/app.
  run(
    'npx',
    'vitest',
    'run',
    'test/app',
    'test/engine/db',
    'test/engine/e2e',
    'test/engine/local/dev.test.ts',
    'test/engine/local/docs.test.ts',
    'test/engine/local/bundle',
  );
  run('npm', 'run', 'demo');
  console.log('The fork passes.');
} finally {
  rmSync(dirname(fork), { recursive: true, force: true });
}

/** Does what the README's code blocks say: a block that begins with a path is that file, or a part of a wrangler file. */
function followReadme(): void {
  const blocks = readme.matchAll(/```(?:ts|toml)\n(?:\/\/|#) ((?:src|test|wrangler)\S+)\n(.*?)```/gs);
  let files = 0;
  for (const [, file = '', text = ''] of blocks) {
    console.log(`README: ${file}`);
    const path = join(fork, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.endsWith('.toml') ? merged(readFileSync(path, 'utf8'), text) : text);
    files++;
  }
  if (files < 8) throw new Error(`the README has only ${files} files to write: has its form changed?`);
}

/** A list takes the place of the file's own. What is below a heading goes below that heading. */
function merged(toml: string, part: string): string {
  const [heading = '', ...lines] = part.split('\n');
  const result = heading.startsWith('[')
    ? toml.replace(heading, [heading, ...lines].join('\n').trimEnd())
    : toml.replace(/required = \[[^\]]*\]/, part.trimEnd());
  if (result === toml) throw new Error(`there is no place in the wrangler file for: ${heading}`);
  return result;
}

function run(program: string, ...args: string[]): void {
  console.log(`\nacme-hooks $ ${program} ${args.join(' ')}`);
  execFileSync(program, args, { cwd: fork, stdio: 'inherit' });
}

function expectFailure(words: string, program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: fork, encoding: 'utf8' });
  if (status === 0 || !`${stdout}${stderr}`.includes(words)) {
    throw new Error(`${program} ${args.join(' ')} should fail with "${words}", and said: ${stdout}${stderr}`);
  }
}

function commit(message: string): void {
  git(fork, 'add', '-A');
  git(fork, '-c', 'user.name=acme', '-c', 'user.email=acme@example.com', 'commit', '--quiet', '-m', message);
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
}
