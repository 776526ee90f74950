import { lstatSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { git } from '../lib/fork-files.ts';
import { UserError } from '../lib/user-error.ts';
import type { Change } from './plan.ts';

/** What git doesn't see, a reset would not bring back. */
export function assertClean(): void {
  if (git(['status', '--porcelain']) !== '') {
    throw new UserError('there are uncommitted changes: commit or stash them first, so that an upgrade can be undone');
  }
  // Fails if another git is at work here.
  git(['update-index', '--refresh']);
  // `H` is an ordinary file. Others are not looked at by git status: assume-unchanged, or a sparse checkout.
  const hidden = git(['ls-files', '-v'])
    .split('\n')
    .find((line) => /^[^H]/.test(line));
  if (hidden)
    throw new UserError(`git does not look at changes in ${hidden.slice(2)} (git ls-files -v): undo that first`);
}

/** Whether something is at a path, or is in the way to it: nothing is written through a symbolic link. */
export function isTaken(path: string): boolean {
  const names = path.split('/');
  return names.some((_, index) => {
    const entry = lstatSync(names.slice(0, index + 1).join('/'), { throwIfNoEntry: false });
    return entry !== undefined && (index === names.length - 1 || !entry.isDirectory());
  });
}

/** Writes the changes on a clean tree, and stages them: `git reset --hard` then removes also what was added. */
export function writeChanges(changes: readonly Change[], packageJson: string): void {
  const added: string[] = [];
  try {
    for (const change of changes) {
      if (change.outcome === 'kept') continue;
      if (change.outcome !== 'added') rmSync(change.path);
      if (change.outcome === 'deleted') removeEmptyFolders(dirname(change.path));
      else {
        mkdirSync(dirname(change.path), { recursive: true });
        // `wx` fails if something is there, so that no link is followed.
        const mode = change.file.mode === '100755' ? 0o777 : 0o666;
        writeFileSync(change.path, change.file.bytes, { flag: 'wx', mode });
      }
      if (change.outcome === 'added') added.push(change.path);
    }
    writeFileSync('package.json', packageJson);
    stage([...changes.filter(({ outcome }) => outcome !== 'kept').map(({ path }) => path), 'package.json']);
    markConflicts(changes);
  } catch (error) {
    for (const path of added) rmSync(path);
    git(['reset', '--quiet', '--hard']);
    throw error;
  }
}

/** What commands have changed in files that git knows, such as package-lock.json. Conflicts stay conflicts. */
export function stageChanged(changes: readonly Change[]): void {
  const conflicts = changes.flatMap(({ outcome, path }) => (outcome === 'conflict' ? [path] : []));
  const changed = git(['diff', '--name-only', '--relative', '-z']).split('\0');
  stage(changed.filter((path) => path !== '' && !conflicts.includes(path)));
}

function stage(paths: readonly string[]): void {
  git(['update-index', '--add', '--remove', '-z', '--stdin'], { input: paths.map((path) => `${path}\0`).join('') });
}

/** As git merge does: git status lists them, and nothing can be committed before they are resolved. */
function markConflicts(changes: readonly Change[]): void {
  const prefix = git(['rev-parse', '--show-prefix']).trim();
  const lines = changes.flatMap((change) => {
    if (change.outcome !== 'conflict') return [];
    const { base, yours, next } = change.sides;
    const stages = [base, yours, next].map(({ mode, bytes }, index) => {
      const id = git(['hash-object', '-w', '--stdin'], { input: bytes }).trim();
      return `${mode} ${id} ${index + 1}\t${prefix}${change.path}\0`;
    });
    return [`0 ${'0'.repeat(40)}\t${prefix}${change.path}\0`, ...stages];
  });
  git(['update-index', '-z', '--index-info'], { input: lines.join('') });
}

function removeEmptyFolders(folder: string): void {
  try {
    for (let path = folder; path !== '.'; path = dirname(path)) rmdirSync(path);
  } catch {
    // Something is in it.
  }
}
