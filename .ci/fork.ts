// Proves that the template becomes somebody's own: makes a fork with the sample app and one without, and follows the tutorial.
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { STRANGE_FOLDER } from '../engine/workshop/checkout.ts';

/** Whoever owns a fork reads it in an evening, and is not bothered with updates of packages that only we need. */
const MOST = { files: 260, devDependencies: 12, scripts: 16 };
/** The sample app, beside the few files that `--empty` has. */
const SAMPLE_FILES = 7;

/** What is only in the template. */
const GONE =
  /test\/engine|\bbench\/|workshop|\.ci\/|CONTRIBUTING|docs\/scale|scale\.md|evidence\.md|claimcheck\.md|npm run -w|create-cloudflare/;
/** An upgrade reads all of the template. */
const READS_TEMPLATE = /^(scripts\/(upgrade\.ts|upgrade\/.*|lib\/fork-files\.ts)|\.github\/workflows\/upgrade\.yml)$/;

const root = mkdtempSync(join(tmpdir(), `${STRANGE_FOLDER}-`));
// A DATABASE_URL of this shell would be migrated.
const { DATABASE_URL: _, ...env } = process.env;

try {
  fromDownload(join(root, 'acme-download'));
  fromClone(join(root, 'acme-hooks'));
  console.log('The forks pass.');
} finally {
  rmSync(root, { recursive: true, force: true });
}

/** Without git, as create-cloudflare leaves it, which also writes wrangler.toml anew. With the sample app. */
function fromDownload(fork: string): void {
  const run = runIn(fork);
  mkdirSync(fork);
  execFileSync('tar', ['-x', '-C', fork], { input: execFileSync('git', ['archive', 'HEAD'], { maxBuffer: 2 ** 30 }) });
  symlinkSync(resolve('node_modules'), join(fork, 'node_modules'));
  const wrangler = join(fork, 'wrangler.toml');
  const rewritten = readFileSync(wrangler, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replace(/^name = .*/m, 'name = "my-app"\ncompatibility_flags = [ "nodejs_compat" ]');
  writeFileSync(wrangler, `#:schema node_modules/wrangler/config-schema.json\n${rewritten}`);
  run('npm', 'run', 'init', '--', 'acme-download');
  rmSync(join(fork, 'node_modules'));
  expect(!readFileSync(wrangler, 'utf8').includes('nodejs_compat'), 'wrangler.toml has its comments again');

  git(fork, 'init', '--quiet');
  git(fork, 'add', '--all');
  checkFork(fork, 'acme-download', null, MOST.files + SAMPLE_FILES);
  run('npm', 'ci');
  for (const command of ['test', 'check', 'demo']) run('npm', 'run', command);
}

function fromClone(fork: string): void {
  const run = runIn(fork);
  git('.', 'clone', '--quiet', '.', fork);
  const head = git(fork, 'rev-parse', 'HEAD').trim();
  run('npm', 'ci');
  const init = (...args: string[]) => ['npm', 'run', 'init', '--', ...args] as const;
  run(...init('acme-hooks', '--empty', '--dry-run'));
  expectFailure(fork, "can't be a name", ...init('Acme Hooks'));
  writeFileSync(join(fork, 'note.txt'), 'not committed');
  expectFailure(fork, 'there are uncommitted changes', ...init('acme-hooks'));
  rmSync(join(fork, 'note.txt'));
  // Git doesn't see an empty folder. Where a file must be written, it makes init fail in the middle.
  const obstacle = join(fork, '.github/workflows/upgrade.yml');
  mkdirSync(obstacle);
  expectFailure(fork, 'everything is as it was', ...init('acme-hooks'));
  rmdirSync(obstacle);
  expect(git(fork, 'status', '--porcelain') === '', 'an init that fails changes nothing');

  run(...init('acme-hooks', '--empty'));
  commit(fork, 'made ours');
  checkFork(fork, 'acme-hooks', head);
  run('npm', 'ci');
  run('npm', 'ls', '--all');
  for (const command of ['test', 'check', 'demo']) run('npm', 'run', command);

  followTutorial(fork);
  run('npm', 'run', 'db:generate');
  run('npm', 'run', 'types');
  commit(fork, 'a source, a table, an effect, a handler and their test, as in the tutorial');
  // What its owner adds has no limit.
  checkFork(fork, 'acme-hooks', head, Number.POSITIVE_INFINITY);
  for (const command of ['test', 'check', 'demo']) run('npm', 'run', command);
}

/** What is in a fork, and that nothing in it refers to what is not. (Links on its pages: engine/test/local/docs.test.ts.) */
function checkFork(fork: string, name: string, commit: string | null, most = MOST.files): void {
  const files = git(fork, 'ls-files').trim().split('\n');
  const own = JSON.parse(readFileSync(join(fork, 'package.json'), 'utf8'));
  const scripts = Object.keys(own.scripts);
  const readme = readFileSync(join(fork, 'README.md'), 'utf8');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(own.name === name, `it is called ${name}`);
  expect(own.claimcheck.version === version && own.claimcheck.commit === commit, 'it knows what it was made from');
  expect(files.length <= most, `${files.length} files, at most ${most}`);
  const packages = Object.keys(own.devDependencies).length;
  expect(packages <= MOST.devDependencies, `${packages} development dependencies, at most ${MOST.devDependencies}`);
  expect(scripts.length <= MOST.scripts, `${scripts.length} scripts, at most ${MOST.scripts}`);
  for (const script of scripts) {
    const command = script === 'test' ? 'npm test' : `npm run ${script}`;
    expect(readme.includes(`| \`${command}`), `README.md has a line for ${command}`);
  }

  const problems = files.flatMap((file) => {
    if (READS_TEMPLATE.test(file)) return [];
    const lines = readFileSync(join(fork, file), 'utf8').split('\n');
    const foreign = lines.filter((line) => GONE.test(line));
    const commands = lines.flatMap((line) =>
      Array.from(line.matchAll(/npm run (?:-\S+ )*([\w:]+)/g), ([, one]) => one),
    );
    const decisions = lines.flatMap((line) => Array.from(line.matchAll(/[Dd]ecision (\d{3})/g), ([, one]) => one));
    return [
      ...foreign.map((line) => `${file}: ${line.trim()}`),
      ...commands.filter((one) => !scripts.includes(one ?? '')).map((one) => `${file}: npm run ${one}`),
      ...decisions
        .filter((one) => globSync(`docs/decisions/${one}-*.md`, { cwd: fork }).length === 0)
        .map((one) => `${file}: decision ${one}`),
    ];
  });
  expect(problems.length === 0, ['nothing refers to what is not there', ...problems].join('\n'));
}

/** Does what the tutorial's code blocks say: a block that begins with a path is that file, or a part of a wrangler file. */
function followTutorial(fork: string): void {
  const tutorial = readFileSync('docs/tutorial.md', 'utf8');
  const blocks = tutorial.matchAll(/```(?:ts|toml)\n(?:\/\/|#) ((?:src|test|wrangler)\S+)\n(.*?)```/gs);
  let files = 0;
  for (const [, file = '', text = ''] of blocks) {
    console.log(`tutorial: ${file}`);
    const path = join(fork, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.endsWith('.toml') ? merged(readFileSync(path, 'utf8'), text) : text);
    files++;
  }
  expect(files >= 8, `the tutorial has ${files} files to write`);
}

/** A list takes the place of the file's own. What is below a heading goes below that heading. */
function merged(toml: string, part: string): string {
  const [heading = '', ...lines] = part.split('\n');
  const result = heading.startsWith('[')
    ? toml.replace(heading, [heading, ...lines].join('\n').trimEnd())
    : toml.replace(/required = \[[^\]]*\]/, part.trimEnd());
  expect(result !== toml, `the wrangler file has a place for: ${heading}`);
  return result;
}

function runIn(cwd: string) {
  return (program: string, ...args: string[]) => {
    console.log(`\n${cwd} $ ${program} ${args.join(' ')}`);
    const started = performance.now();
    // The output of these two is long.
    const stdio = args.includes('--dry-run') || args[0] === 'ls' ? 'ignore' : 'inherit';
    execFileSync(program, args, { cwd, stdio: ['ignore', stdio, 'inherit'], env });
    console.log(`(${((performance.now() - started) / 1000).toFixed(1)} s)`);
  };
}

function expectFailure(cwd: string, words: string, program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env });
  expect(status !== 0 && `${stdout}${stderr}`.includes(words), `it fails with "${words}": ${stdout}${stderr}`);
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`this is not so: ${what}`);
  console.log(`ok  ${what.trim()}`);
}

function commit(folder: string, message: string): void {
  git(folder, 'add', '--all');
  git(folder, '-c', 'user.name=acme', '-c', 'user.email=acme@example.com', 'commit', '--quiet', '-m', message);
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
}
