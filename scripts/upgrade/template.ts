import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { git, LISTS, tryGit } from '../lib/fork-files.ts';
import { UserError } from '../lib/user-error.ts';

/** The template's versions, from wherever they are: gathered in one git repository in a temporary folder. */
export interface Template {
  readonly folder: string;
  /** The newest first. */
  readonly versions: readonly Section[];
  /** The commit of a version, a branch or a commit. */
  find(name: string): string | undefined;
  /** A plain copy has no history: its commit was made here, and is nowhere else. */
  isCopy(commit: string): boolean;
}

/** Each place is the URL of a git repository, the folder of one, or a plain copy of the template. */
export function openTemplate(places: readonly string[]): Template {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-upgrade-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  git(['init', '--quiet'], { cwd: folder });
  // Otherwise a clean-up in the background may still write here when the folder is removed.
  git(['config', 'maintenance.auto', 'false'], { cwd: folder });
  // The fork's own history may have the base: `init` records the commit that it was run on.
  const objects = resolve(git(['rev-parse', '--git-path', 'objects']).trim());
  writeFileSync(join(folder, '.git/objects/info/alternates'), `${objects}\n`);

  const copies: string[] = [];
  const heads = places.map((place, index) => {
    const path = resolve(place);
    const isPlain = existsSync(path) && !existsSync(join(path, '.git')) && !existsSync(join(path, 'objects'));
    if (!isPlain) return fetch(folder, existsSync(path) ? path : place, index);
    copies.push(commitCopy(folder, path, index));
    return copies.at(-1) ?? '';
  });
  const show = (commit: string, file: string) => tryGit(['show', `${commit}:${file}`], { cwd: folder }).out.toString();
  const changelogs = heads.map((head) => readChangelog(show(head, 'CHANGELOG.md')));
  return {
    folder,
    versions: changelogs
      .flat()
      .filter(({ number }, index, all) => index === all.findIndex((other) => other.number === number))
      .sort((a, b) => compareVersions(b.number, a.number)),
    find(name) {
      const number = name.replace(/^v(?=\d)/, '');
      // A clone may have no tags. CHANGELOG.md then names the commits, but that of the newest version, which is the head.
      const named = changelogs.flat().flatMap((section) => (section.number === number ? (section.commit ?? []) : []));
      const newest = heads.filter((head) => show(head, 'package.json').includes(`"version": "${number}"`));
      const branches = heads.map((_, index) => `refs/places/${index}/${name}`);
      const revisions = [`refs/tags/v${number}`, ...named, ...newest, ...branches, name];
      return revisions.map((revision) => versionAt(folder, revision)).find((commit) => commit !== undefined);
    },
    isCopy: (commit) => copies.includes(commit),
  };
}

function fetch(cwd: string, place: string, index: number): string {
  const refs = [`+refs/heads/*:refs/places/${index}/*`, `+HEAD:refs/heads/${index}`];
  const { status, error } = tryGit(['fetch', '--quiet', '--tags', '--force', '--', place, ...refs], { cwd });
  // A URL may have a password in it.
  if (status !== 0) throw new UserError(`${place} could not be fetched: ${error}`.replaceAll(/\/\/[^@/\s]*@/g, '//'));
  return git(['rev-parse', `refs/heads/${index}`], { cwd }).trim();
}

/** What .gitignore names stays out: packages, secrets, data. */
function commitCopy(folder: string, path: string, index: number): string {
  const env = { GIT_DIR: join(folder, '.git'), GIT_WORK_TREE: path, GIT_INDEX_FILE: join(folder, `index-${index}`) };
  git(['-c', 'core.autocrlf=false', 'add', '--all', '.'], { cwd: path, env });
  const tree = git(['write-tree'], { cwd: path, env }).trim();
  const author = ['-c', 'user.name=upgrade', '-c', 'user.email=upgrade@localhost'];
  return git([...author, 'commit-tree', tree, '-m', 'A plain copy'], { cwd: path, env }).trim();
}

/** The commit, if it is there and is one of the template: a revision can also name a commit of the fork. */
function versionAt(cwd: string, revision: string): string | undefined {
  const commit = tryGit(['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`], { cwd });
  const id = commit.out.toString().trim();
  return commit.status === 0 && tryGit(['cat-file', '-e', `${id}:${LISTS}`], { cwd }).status === 0 ? id : undefined;
}

/** What CHANGELOG.md says about a version. */
export interface Section {
  readonly number: string;
  readonly date: string;
  /** The first line of its text. */
  readonly summary: string;
  /** What a fork must do by hand. */
  readonly mustDo: string;
  /** From the link at the end of the file: `[0.2.0]: ../../commit/<its commit>`. */
  readonly commit: string | undefined;
}

/** The versions in the order of the file: the newest first. What is not released yet is not among them. */
export function readChangelog(text: string): Section[] {
  return text
    .replaceAll(/^\[[^\]]+\]: .*$/gm, '')
    .split(/^## /m)
    .flatMap((section) => {
      const [, number = '', date = ''] = /^\[(\d+\.\d+\.\d+)\] - (\S+)/.exec(section) ?? [];
      const [, ...lines] = section.split('\n');
      const summary = lines.find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
      const [, mustDo = ''] = section.split(/^### You must do$/m);
      const commit = new RegExp(`^\\[${number}\\]: .*?([0-9a-f]{40})$`, 'm').exec(text)?.[1];
      return number ? [{ number, date, summary, mustDo: mustDo.split(/^### /m, 1)[0]?.trim() ?? '', commit }] : [];
    });
}

/** What a fork must do by hand between two versions, the oldest first. */
export function mustDoBetween(from: string, to: string, changelog: string): string {
  return readChangelog(changelog)
    .filter(({ number }) => compareVersions(number, from) > 0 && compareVersions(number, to) <= 0)
    .filter(({ mustDo }) => mustDo !== '')
    .map(({ number, mustDo }) => `${number}\n${mustDo}`)
    .reverse()
    .join('\n\n');
}

export function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
