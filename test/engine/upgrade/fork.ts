import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { forkOf, readFiles } from '../../../scripts/lib/fork-files.ts';
import { copyCheckout } from '../../../workshop/checkout.ts';
import { type CommandResult, runIn } from '../checkout.ts';
import { makeNextVersion } from './next-version.ts';

const NAME = 'acme-hooks';

export const AUTHOR = ['-c', 'user.name=acme', '-c', 'user.email=acme@example.com'];

/** A repository of the template with two versions: this checkout, and a made-up one. It has no tags. */
export interface TestTemplate {
  readonly folder: string;
  readonly today: { readonly version: string; readonly commit: string };
  readonly next: string;
  /** A fork of today's version, as `init` makes it, with a commit. */
  makeFork(): TestFork;
  /** A plain copy of a version, without history. */
  copy(commit: string): string;
  /** A branch of the newest version with a change more. Returns its name. */
  branch(name: string, change: (folder: string) => void): string;
  remove(): void;
}

export interface TestFork {
  readonly folder: string;
  read(path: string): string;
  /** Writes files, or deletes those that are `null`, and commits. */
  commit(files?: Readonly<Record<string, string | null>>): void;
  git(...args: string[]): string;
  upgrade(...args: string[]): Promise<CommandResult>;
}

export function makeTemplate(): TestTemplate {
  const root = mkdtempSync(join(tmpdir(), 'claimcheck-upgrade-test-'));
  const folder = join(root, 'template');
  for (const path of gitIn('.', 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')) {
    // Without most of what no fork has: every upgrade would fetch it.
    if (path && existsSync(path) && !/^(bench|test\/engine)\//.test(path)) cpSync(path, join(folder, path));
  }
  init(folder);
  const today = {
    version: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version,
    commit: commitAll(folder),
  };
  makeNextVersion(folder, today);
  const next = commitAll(folder);

  const pristine = join(root, 'fork');
  for (const [path, { mode, bytes }] of forkOf(readFiles(folder, today.commit), NAME).files) {
    write(pristine, path, bytes);
    if (mode === '100755') chmodSync(join(pristine, path), 0o755);
  }
  const packageJson = JSON.parse(readFileSync(join(pristine, 'package.json'), 'utf8'));
  const claimcheck = { ...today, repository: folder };
  write(pristine, 'package.json', `${JSON.stringify({ ...packageJson, claimcheck }, null, 2)}\n`);
  init(pristine);
  commitAll(pristine);

  let number = 0;
  return {
    folder,
    today,
    next,
    makeFork() {
      number += 1;
      const fork = join(root, `fork-${number}`);
      gitIn('.', 'clone', '--quiet', pristine, fork);
      copyCheckout(fork, [], { ownCaches: true });
      return testFork(fork);
    },
    copy(commit) {
      number += 1;
      const copy = join(root, `copy-${number}`);
      gitIn('.', 'clone', '--quiet', folder, copy);
      gitIn(copy, 'checkout', '--quiet', commit);
      rmSync(join(copy, '.git'), { recursive: true });
      return copy;
    },
    branch(name, change) {
      gitIn(folder, 'switch', '--quiet', '--create', name);
      change(folder);
      commitAll(folder);
      gitIn(folder, 'switch', '--quiet', 'main');
      return name;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function testFork(folder: string): TestFork {
  return {
    folder,
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    commit(files = {}) {
      for (const [path, text] of Object.entries(files)) {
        if (text === null) rmSync(join(folder, path));
        else write(folder, path, text);
      }
      commitAll(folder);
    },
    git: (...args) => gitIn(folder, ...args),
    upgrade: (...args) => runIn(folder, ['upgrade', ...args]).result,
  };
}

function init(folder: string): void {
  gitIn(folder, 'init', '--quiet', '--initial-branch=main');
}

export function commitAll(folder: string): string {
  gitIn(folder, 'add', '--all');
  gitIn(folder, ...AUTHOR, 'commit', '--quiet', '--allow-empty', '--message=A commit');
  return gitIn(folder, 'rev-parse', 'HEAD').trim();
}

function write(folder: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

export function gitIn(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 100_000_000, stdio: 'pipe' });
}
