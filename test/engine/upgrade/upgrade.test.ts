import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readChangelog } from '../../../scripts/upgrade/template.ts';
import { runIn } from '../checkout.ts';
import { AUTHOR, commitAll, gitIn, makeTemplate, type TestFork, type TestTemplate } from './fork.ts';
import { NEXT } from './next-version.ts';

let template: TestTemplate;
beforeAll(() => {
  template = makeTemplate();
});
afterAll(() => template?.remove());

const packageOf = (fork: TestFork) => JSON.parse(fork.read('package.json'));
/** Changes what a fork knows of what it was made from. */
function record(fork: TestFork, changes: object | undefined): void {
  const { claimcheck, ...rest } = packageOf(fork);
  fork.commit({ 'package.json': JSON.stringify({ ...rest, claimcheck: changes && { ...claimcheck, ...changes } }) });
}
const nextText = (path: string) => gitIn(template.folder, 'show', `${template.next}:${path}`);
/** One line for each changed path. The first letter is what is staged, the second what is not. */
const statusOf = (fork: TestFork) => fork.git('status', '--porcelain').trimEnd().split('\n');
const isClean = (fork: TestFork) => fork.git('status', '--porcelain') === '';

/** The next version changes the first and the last line of src/shared/text.ts, and this one is in the middle. */
const withOwnLine = (text: string) => text.replace('const year =', '// Ours.\n  const year =');
/** The next version changes the same line of src/shared/problem.ts. */
const withOwnTitle = (text: string) => text.replace('RFC 9457.', 'RFC 9457, as we do it.');

/** An npm that writes down what it is asked to do, and fails if it is asked to do this. */
function npmThatFailsAt(fork: TestFork, failing: string) {
  const bin = `${fork.folder}-bin`;
  mkdirSync(bin, { recursive: true });
  const lines = [
    '#!/bin/sh',
    `echo "$*" >> "${bin}/asked"`,
    'echo "// npm" >> package-lock.json',
    `[ "$*" != "${failing}" ]`,
  ];
  writeFileSync(join(bin, 'npm'), lines.join('\n'), { mode: 0o755 });
  return {
    env: { PATH: `${bin}${delimiter}${process.env.PATH}` },
    asked: () => readFileSync(join(bin, 'asked'), 'utf8').trim().split('\n'),
  };
}

describe('an upgrade of a fork with changes of its own', () => {
  const own = {
    'src/app/tables.ts': '// Ours.\nexport {};\n',
    'test/app/ours.test.ts': '// Ours.\n',
    'README.md': 'Ours.\n',
    'notes/ours.md': 'Ours.\n',
  };
  let fork: TestFork;
  let text: string;
  let code: number | null;
  let asked: string[];
  beforeAll(async () => {
    fork = template.makeFork();
    const npm = npmThatFailsAt(fork, 'nothing');
    chmodSync(join(fork.folder, 'src/shared/problem.ts'), 0o755);
    fork.commit({
      ...own,
      'src/shared/text.ts': withOwnLine(fork.read('src/shared/text.ts')),
      'src/shared/problem.ts': withOwnTitle(fork.read('src/shared/problem.ts')),
      'wrangler.consumer.toml': fork.read('wrangler.consumer.toml').replace('DEDUPE_DAYS = 30', 'DEDUPE_DAYS = 60'),
    });
    ({ text, code } = await runIn(fork.folder, ['upgrade'], npm.env).result);
    asked = npm.asked();
  });

  it('replaces what the fork has not changed, adds, deletes, and stages all of it', () => {
    expect(text).toMatch(/^replaced +src\/shared\/memoize\.ts$/m);
    expect(fork.read('src/shared/memoize.ts')).toBe(nextText('src/shared/memoize.ts'));
    expect(fork.read('src/shared/next.ts')).toBe(nextText('src/shared/next.ts'));
    expect(existsSync(join(fork.folder, 'docs/alerts.md'))).toBe(false);
    expect(statusOf(fork)).toEqual([
      'D  docs/alerts.md',
      'M  docs/console.md',
      'A  drizzle/engine/9999_next.sql',
      'M  drizzle/engine/meta/_journal.json',
      'M  package-lock.json',
      'M  package.json',
      'A  scripts/lib/next.sh',
      'M  src/shared/memoize.ts',
      'A  src/shared/next.ts',
      'UU src/shared/problem.ts',
      'M  src/shared/text.ts',
    ]);
    expect(text).toContain('New migrations of the engine: drizzle/engine/9999_next.sql\n');
    expect(text).toContain(': 3 replaced, 3 added, 1 deleted, 1 merged, 1 conflict, 0 kept.');
  });

  it('merges a file that both have changed in different places', () => {
    expect(text).toMatch(/^merged +src\/shared\/text\.ts$/m);
    expect(fork.read('src/shared/text.ts')).toBe(withOwnLine(nextText('src/shared/text.ts')));
  });

  it('marks a conflict, lists it, checks nothing, ends with an error, and git refuses to commit it', () => {
    expect([code, asked]).toEqual([1, ['install']]);
    expect(text).toMatch(/^conflict +src\/shared\/problem\.ts$/m);
    expect(text).toContain('Left to do: resolve the conflicts, and git add: src/shared/problem.ts\n');
    expect(text).toContain('Left to do: npm run types && npm run check && npm test\n');
    expect(fork.read('src/shared/problem.ts')).toMatch(
      /^<<<<<<< yours\n.*as we do it\..*\n=======\n.*as in the next version\..*\n>>>>>>> claimcheck 99\.0\.0$/m,
    );
    expect(() => fork.git('commit', '--quiet', '--message=x')).toThrow('unmerged');
  });

  it('leaves alone what is the fork’s own, and shows what the template has changed in its own', () => {
    for (const [path, content] of Object.entries(own)) expect(fork.read(path)).toBe(content);
    expect(fork.read('wrangler.consumer.toml')).toMatch(/DEDUPE_DAYS = 60$/m);
    expect(text).toMatch(/^-BODY_DAYS = 7\n\+BODY_DAYS = 5$/m);
    expect(text).not.toContain('bench/next.ts');
    expect(existsSync(join(fork.folder, 'bench'))).toBe(false);
  });

  it('prints the sections "You must do" of the versions after the fork’s own', () => {
    expect(text).toMatch(/^You must do \(CHANGELOG\.md, up to 99\.0\.0\):\n\n99\.0\.0\nSet `BODY_DAYS` to 5\.\n\n/m);
    expect(text).not.toContain('A fork of 0.1.0');
  });

  it('keeps the fork’s names: those of its Workers and queues are not a change, and new text has them as well', () => {
    expect(text).toMatch(/^replaced +docs\/console\.md$/m);
    expect(fork.read('docs/console.md')).toContain('Next: the Worker `acme-hooks-ops` has a page more.');
    expect(fork.read('docs/console.md')).not.toContain('claimcheck-ops');
    expect(packageOf(fork).name).toBe('acme-hooks');
  });

  it('keeps the modes of files: new ones, that of a merged one, which the template has changed, and the fork’s own', () => {
    const modes = ['scripts/lib/next.sh', 'src/shared/next.ts', 'src/shared/text.ts', 'src/shared/problem.ts'].map(
      (path) => statSync(join(fork.folder, path)).mode & 0o100,
    );
    expect(modes).toEqual([0o100, 0, 0o100, 0o100]);
  });

  it('records the version and the commit', () => {
    const { folder, next } = template;
    expect(packageOf(fork).claimcheck).toEqual({ version: NEXT, commit: next, repository: folder });
  });

  it('is undone by the command that it prints, which leaves alone what the user has made meanwhile', () => {
    writeFileSync(join(fork.folder, 'meanwhile.txt'), 'x');
    const [, undo = ''] = /^To undo it: git (.*) && npm ci$/m.exec(text) ?? [];
    fork.git(...undo.split(' '));
    expect(statusOf(fork)).toEqual(['?? meanwhile.txt']);
    expect(existsSync(join(fork.folder, 'src/shared/next.ts'))).toBe(false);
  });
});

describe('a file stays as it is, and is listed,', () => {
  let fork: TestFork;
  let text: string;
  let outside: string;
  let ours: { dependencies: Record<string, string>; imports: object };
  beforeAll(async () => {
    fork = template.makeFork();
    outside = `${fork.folder}-outside`;
    mkdirSync(outside);
    const providers = fork.git('ls-files', 'src/providers').trim().split('\n');
    ours = packageOf(fork);
    ours.dependencies.valibot = '1.0.0';
    fork.commit({
      'package.json': `${JSON.stringify(ours, null, '\t')}\n`,
      'docs/alerts.md': 'Ours.\n',
      'src/shared/memoize.ts': null,
      'src/shared/next.ts': 'Ours.\n',
      'src/shared/text.ts': 'Ours.\0',
      'docs/console.md': null,
      ...Object.fromEntries(providers.map((path) => [path, null])),
      '.gitignore': `${fork.read('.gitignore')}/ignored/\n`,
    });
    symlinkSync('../README.md', join(fork.folder, 'docs/console.md'));
    fork.commit();
    mkdirSync(join(fork.folder, 'ignored'));
    writeFileSync(join(fork.folder, 'ignored/file.txt'), 'Ours.\n');
    symlinkSync(outside, join(fork.folder, 'linked'));
    writeFileSync(join(fork.folder, '.git/info/exclude'), 'linked\n');
    const from = template.branch('in-the-way', (folder) => {
      for (const path of ['ignored/file.txt', 'linked/file.txt', 'src/providers/next.ts']) {
        mkdirSync(join(folder, path, '..'), { recursive: true });
        writeFileSync(join(folder, path), 'Next.\n');
      }
      const theirs = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      theirs.dependencies.valibot = '99.0.0';
      theirs.imports['#next'] = './next.ts';
      writeFileSync(join(folder, 'package.json'), JSON.stringify(theirs));
    });
    ({ text } = await fork.upgrade(from, '--no-checks'));
  });

  it.each([
    ['docs/alerts.md', 'you have changed it, and the engine has deleted it'],
    ['src/shared/memoize.ts', 'you have deleted it, and the engine has changed it'],
    ['src/shared/text.ts', 'both have changed it, and it is not a text'],
    ['docs/console.md', 'both have changed it, and it is not a text'],
    ['src/shared/next.ts', 'the engine has a new file here, and one of yours is in its place'],
    ['ignored/file.txt', 'the engine has a new file here, and one of yours is in its place'],
    ['linked/file.txt', 'the engine has a new file here, and one of yours is in its place'],
    ['src/providers/next.ts', 'not added, because you have deleted its folder'],
  ])('%s: %s', (path, why) => {
    expect(text).toContain(`kept      ${path}: ${why}\n`);
    expect(fork.git('diff', 'HEAD', '--name-only', '--', path)).toBe('');
  });

  it('and nothing is written through a link', () => {
    expect(existsSync(join(outside, 'file.txt'))).toBe(false);
    expect(readFileSync(join(fork.folder, 'ignored/file.txt'), 'utf8')).toBe('Ours.\n');
    expect(existsSync(join(fork.folder, 'src/providers/next.ts'))).toBe(false);
    expect(fork.read('README.md')).not.toContain('Next:');
  });

  it('and so does a line of package.json that both have changed, in a file that keeps its indentation', () => {
    expect(text).toContain(
      `kept      package.json: dependencies.valibot: yours is "1.0.0", the template's is "99.0.0"`,
    );
    const { dependencies, imports } = packageOf(fork);
    expect({ dependencies, imports }).toEqual({
      dependencies: ours.dependencies,
      imports: { ...ours.imports, '#next': './next.ts' },
    });
    expect(fork.read('package.json')).toMatch(/^\{\n\t"name": "acme-hooks",\n/);
  });
});

describe('before anything is changed', () => {
  it('--dry-run says what would be done, and changes nothing', async () => {
    const fork = template.makeFork();
    fork.commit({ 'src/shared/problem.ts': withOwnTitle(fork.read('src/shared/problem.ts')) });
    const { text, code } = await fork.upgrade('--dry-run');
    expect(code).toBe(0);
    expect(text).toMatch(/^conflict +src\/shared\/problem\.ts$/m);
    expect(text).toContain('Set `BODY_DAYS` to 5.');
    expect(text).toMatch(/\nNothing was changed\.$/);
    expect(isClean(fork)).toBe(true);
  });

  it('--list has the versions, the newest first, with their dates and first lines', async () => {
    const { text } = await template.makeFork().upgrade('--list');
    expect(text.split('\n')).toEqual([
      '99.0.0  2027-01-15  A made-up version.',
      ...readChangelog(readFileSync('CHANGELOG.md', 'utf8')).map(
        ({ number, date, summary }) =>
          `${number}  ${date}  ${summary}${number === template.today.version ? '  (yours)' : ''}`,
      ),
    ]);
  });

  it('uncommitted changes are refused, also those that git was told not to look at', async () => {
    const fork = template.makeFork();
    writeFileSync(join(fork.folder, 'new.txt'), 'x');
    expect((await fork.upgrade()).text).toMatch(/^upgrade: there are uncommitted changes: commit or stash them first/);
    rmSync(join(fork.folder, 'new.txt'));
    fork.git('update-index', '--assume-unchanged', 'src/shared/memoize.ts');
    writeFileSync(join(fork.folder, 'src/shared/memoize.ts'), 'Ours.');
    expect((await fork.upgrade()).text).toMatch(/^upgrade: git does not look at changes in src\/shared\/memoize\.ts/);
    expect(fork.read('src/shared/memoize.ts')).toBe('Ours.');
  });

  it('what can’t be compared is refused with one line', async () => {
    const fork = template.makeFork();
    record(fork, { version: '0.1.5', commit: 'a'.repeat(40) });
    const missing = await fork.upgrade();
    expect(missing.code).toBe(1);
    expect(missing.text).toMatch(/^upgrade: what this fork was made from \(0\.1\.5, commit a{40}\) is not there, .*$/);
    for (const wanted of ['7.0.0', fork.git('rev-parse', 'HEAD').trim()]) {
      expect((await fork.upgrade(wanted)).text).toMatch(`upgrade: there is no version ${wanted}: `);
    }
    const unreachable = await fork.upgrade('--from', 'https://me:secret@127.0.0.1:9/x');
    expect(unreachable.text).toMatch(/^upgrade: https:\/\/\S*127\.0\.0\.1:9\/x could not be fetched: /);
    expect(unreachable.text).not.toContain('secret');

    record(fork, { version: '100.0.0' });
    expect((await fork.upgrade()).text).toBe('upgrade: 99.0.0 is older than 100.0.0, which this fork has');
    record(fork, undefined);
    expect((await fork.upgrade()).text).toMatch(/^upgrade: where is the template\? Add --from <git url or folder>/);
    expect((await fork.upgrade('--from', template.folder)).text).toMatch(/^upgrade: this is not a fork: /);
    expect(isClean(fork)).toBe(true);
  });

  it('a version with a symbolic link is refused', async () => {
    const from = template.branch('link', (folder) => symlinkSync('/etc/passwd', join(folder, 'src/link.ts')));
    const fork = template.makeFork();
    expect((await fork.upgrade(from)).text).toBe(
      'upgrade: src/link.ts of 99.0.0 is a link, and upgrade writes only files',
    );
    expect(isClean(fork)).toBe(true);
  });
});

describe('the version to compare with', () => {
  it('is that of CHANGELOG.md if nobody has the recorded commit, and the new one afterwards: nothing more is to do', async () => {
    const fork = template.makeFork();
    record(fork, { commit: 'a'.repeat(40) });
    const { text, code } = await fork.upgrade('--no-checks');
    const { version } = template.today;
    expect(text).toContain(`which this fork was made from, is not there. It is compared with ${version}.\n`);
    expect(text).toMatch(/^replaced +src\/shared\/memoize\.ts$/m);
    expect(code).toBe(0);
    fork.commit();
    for (const wanted of [[], ['v99.0.0'], ['main']]) {
      expect((await fork.upgrade(...wanted)).text).toBe('This is 99.0.0 already.');
    }
  });

  it('is a commit of the fork’s own history if the repository was made without the template’s', async () => {
    const fork = template.makeFork();
    fork.git('fetch', '--quiet', template.folder, template.today.commit);
    const tree = fork.git('rev-parse', `${template.today.commit}^{tree}`).trim();
    record(fork, { version: '0.1.9', commit: fork.git(...AUTHOR, 'commit-tree', tree, '-m', 'Initial commit').trim() });
    const { text, code } = await fork.upgrade('--no-checks');
    expect(text).toMatch(/^replaced +src\/shared\/memoize\.ts$/m);
    expect(code).toBe(0);
  });

  it('can be a plain copy, like the new one', async () => {
    const fork = template.makeFork();
    record(fork, { commit: null });
    const copy = template.copy(template.next);
    expect((await fork.upgrade('--from', copy)).text).toMatch(/^upgrade: what this fork was made from /);
    const { code } = await fork.upgrade('--no-checks', '--from', copy, '--from', template.copy(template.today.commit));
    expect(code).toBe(0);
    expect(fork.read('src/shared/memoize.ts')).toBe(nextText('src/shared/memoize.ts'));
    expect(packageOf(fork).claimcheck).toEqual({ version: NEXT, commit: null, repository: template.folder });
  });
});

it.each([
  ['all pass', 'nothing', 4],
  ['the first fails', 'install', 1],
])('in the end npm installs, writes the types, checks and tests: if %s', async (_what, failing, runs) => {
  const fork = template.makeFork();
  const npm = npmThatFailsAt(fork, failing);
  const { text, code } = await runIn(fork.folder, ['upgrade'], npm.env).result;
  expect(npm.asked()).toEqual(['install', 'run types', 'run check', 'test'].slice(0, runs));
  expect(code).toBe(runs === 4 ? 0 : 1);
  const left = /^Left to do: (.*)$/m.exec(text)?.[1];
  expect(left).toBe(runs === 4 ? undefined : 'npm install && npm run types && npm run check && npm test');
  // What npm has changed is staged too, and the files stay upgraded.
  expect(statusOf(fork)).toContain('M  package-lock.json');
  expect(packageOf(fork).claimcheck.version).toBe(NEXT);
});

it('a fork can be a folder of a larger repository', async () => {
  const fork = template.makeFork();
  const large = `${fork.folder}-large`;
  mkdirSync(large);
  renameSync(fork.folder, join(large, 'hooks'));
  renameSync(join(large, 'hooks/.git'), join(large, '.git'));
  const problem = join(large, 'hooks/src/shared/problem.ts');
  writeFileSync(problem, withOwnTitle(readFileSync(problem, 'utf8')));
  commitAll(large);
  expect((await runIn(join(large, 'hooks'), ['upgrade', '--no-checks']).result).code).toBe(1);
  const status = gitIn(large, 'status', '--porcelain').trimEnd().split('\n');
  expect(status).toEqual(expect.arrayContaining(['UU hooks/src/shared/problem.ts', 'A  hooks/src/shared/next.ts']));
  expect(status.every((line) => line.slice(3).startsWith('hooks/'))).toBe(true);
});

it('a file that can’t be written takes back all that was written before it', () => {
  const fork = template.makeFork();
  const change = (outcome: string, path: string) => `{ outcome: '${outcome}', path: '${path}', file }`;
  const changes = [
    change('replaced', 'src/shared/text.ts'),
    change('deleted', 'docs/alerts.md'),
    change('added', 'src/new'),
    // The file above is where its folder should be.
    change('added', 'src/new/file.ts'),
  ];
  const script = `
    import { writeChanges } from './scripts/upgrade/write.ts';
    const file = { mode: '100644', bytes: Buffer.from('x') };
    writeChanges([${changes.join(', ')}], '{}');`;
  const run = () =>
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: fork.folder, stdio: 'pipe' });
  expect(run).toThrow('EEXIST');
  expect(isClean(fork)).toBe(true);
});

it('CHANGELOG.md has today’s version on top, and in each version what a fork must do', () => {
  const versions = readChangelog(readFileSync('CHANGELOG.md', 'utf8'));
  expect(versions[0]?.number).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version);
  for (const { number, summary, mustDo } of versions)
    expect([number, summary !== '', mustDo !== '']).toEqual([number, true, true]);
});
