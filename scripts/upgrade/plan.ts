import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type File,
  type Files,
  forkOf,
  git,
  INSTEAD,
  isObject,
  type Json,
  readFiles,
  readJson,
  renamed,
  tryGit,
} from '../lib/fork-files.ts';
import { UserError } from '../lib/user-error.ts';
import { compareVersions, mustDoBetween, type Template } from './template.ts';
import { isTaken } from './write.ts';

/** Files that a fork has changed from the beginning, so a person must look at what the template has changed in its own. */
const BY_HAND = ['wrangler*', '.dev.vars.example', `${INSTEAD}.github`];

export interface Package {
  readonly name: string;
  readonly version: string;
  /** What `init` and each upgrade write. */
  readonly claimcheck?: Recorded;
}

export interface Recorded {
  readonly version: string;
  readonly commit: string | null;
  /** Where the template is, if --from doesn't say it. */
  readonly repository?: string;
}

export interface Upgrade {
  readonly from: string;
  readonly to: string;
  readonly changes: readonly Change[];
  /** The new package.json. */
  readonly packageJson: string;
  readonly keptInPackage: readonly string[];
  readonly mustInstall: boolean;
  /** As a diff: what the template has changed in files that are the fork's own. */
  readonly byHand: string;
  /** From CHANGELOG.md. */
  readonly mustDo: string;
}

/** What an upgrade does to a path. */
export type Change =
  | { readonly outcome: 'replaced' | 'added' | 'merged'; readonly path: string; readonly file: File }
  | { readonly outcome: 'conflict'; readonly path: string; readonly file: File; readonly sides: Sides }
  | { readonly outcome: 'deleted'; readonly path: string }
  | { readonly outcome: 'kept'; readonly path: string; readonly why: string };

export interface Sides {
  readonly base: File;
  readonly yours: File;
  readonly next: File;
}

/** Reads everything and writes nothing. `undefined` if there is nothing to do. */
export function planUpgrade(
  template: Template,
  recorded: Recorded,
  yours: Files,
  wanted?: string,
): Upgrade | undefined {
  const { version, commit } = recorded;
  const name = wanted ?? template.versions[0]?.number;
  const target = name && template.find(name);
  if (!target) throw new UserError(`there is no version ${name}: npm run upgrade -- --list shows what there is`);
  const targetFiles = readFiles(template.folder, target);
  const to = readJson<Package>(targetFiles, 'package.json').version;
  // A branch or a commit may be newer than the version that it still calls itself.
  if (target === commit || (to === version && name === version)) return undefined;
  if (compareVersions(to, version) < 0) throw new UserError(`${to} is older than ${version}, which this fork has`);

  const base = (commit && template.find(commit)) || template.find(version);
  if (!base) {
    throw new UserError(
      `what this fork was made from (${version}, commit ${commit}) is not there, and without it nobody can tell what you have changed: add the place that has it as another --from`,
    );
  }
  if (commit && base !== commit) {
    console.log(`The commit ${commit}, which this fork was made from, is not there. It is compared with ${version}.`);
  }
  const own = readJson<Package>(yours, 'package.json');
  const before = forkOf(readFiles(template.folder, base), own.name);
  const after = forkOf(targetFiles, own.name);
  const engineOf = (files: Files) =>
    new Map([...files].filter(([path]) => before.isEngine(path) && after.isEngine(path)));
  const next = engineOf(after.files);
  for (const [path, { mode }] of next) {
    if (!mode.startsWith('100')) throw new UserError(`${path} of ${to} is a link, and upgrade writes only files`);
  }
  const changes = planChanges({
    base: engineOf(before.files),
    next,
    yours,
    labels: ['yours', `claimcheck ${version}`, `claimcheck ${to}`],
  });
  const merged = mergePackages(
    readJson(before.files, 'package.json'),
    readJson(after.files, 'package.json'),
    readJson(yours, 'package.json'),
  );
  const diff = git(['diff', '--no-color', base, target, '--', ...BY_HAND], { cwd: template.folder }).trim();
  const claimcheck = { ...recorded, version: to, commit: template.isCopy(target) ? null : target };
  const indent = /^[ \t]+/m.exec(yours.get('package.json')?.bytes.toString() ?? '')?.[0];
  return {
    from: version,
    to,
    changes,
    keptInPackage: merged.kept,
    mustInstall: merged.mustInstall,
    packageJson: `${JSON.stringify({ ...merged.value, claimcheck }, null, indent)}\n`,
    byHand: renamed(diff.replaceAll(INSTEAD, ''), own.name),
    mustDo: mustDoBetween(version, to, targetFiles.get('CHANGELOG.md')?.bytes.toString() ?? ''),
  };
}

interface Versions {
  /** The engine's files of the version that the fork has. */
  readonly base: Files;
  /** Those of the version that it gets. */
  readonly next: Files;
  readonly yours: Files;
  /** What the three are called in a conflict. */
  readonly labels: readonly [yours: string, base: string, next: string];
}

/** For each file that the engine has changed: what becomes of it in the fork. */
function planChanges(versions: Versions): Change[] {
  const paths = new Set([...versions.base.keys(), ...versions.next.keys()]);
  return [...paths].sort().flatMap((path) => changeOf(path, versions) ?? []);
}

function changeOf(path: string, versions: Versions): Change | undefined {
  const base = versions.base.get(path);
  const next = versions.next.get(path);
  const yours = versions.yours.get(path);
  const keep = (why: string): Change => ({ outcome: 'kept', path, why });
  if (isSame(base, next) || isSame(yours, next)) return undefined;
  if (!base && next) {
    if (isTaken(path)) return keep('the engine has a new file here, and one of yours is in its place');
    if (isFolderDeleted(dirname(path), versions)) return keep('not added, because you have deleted its folder');
    return { outcome: 'added', path, file: next };
  }
  if (!yours) return keep('you have deleted it, and the engine has changed it');
  if (!base || !next) {
    return isSame(yours, base)
      ? { outcome: 'deleted', path }
      : keep('you have changed it, and the engine has deleted it');
  }
  if (isSame(yours, base)) return { outcome: 'replaced', path, file: next };
  return merge(path, { base, yours, next }, versions.labels) ?? keep('both have changed it, and it is not a text');
}

function isSame(a: File | undefined, b: File | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.mode === b.mode && a.bytes.equals(b.bytes));
}

/** A fork that has deleted all providers but its own wants no new one. */
function isFolderDeleted(folder: string, { base, yours }: Versions): boolean {
  const isIn = (path: string) => dirname(path) === folder;
  return [...base.keys()].some(isIn) && ![...yours.keys()].some(isIn);
}

function merge(path: string, sides: Sides, labels: Versions['labels']): Change | undefined {
  const { base, yours, next } = sides;
  // A symbolic link or a submodule.
  if (![base, yours, next].every(({ mode }) => mode.startsWith('100'))) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-merge-'));
  try {
    const files = [yours, base, next].map(({ bytes }, index) => {
      writeFileSync(join(folder, String(index)), bytes);
      return String(index);
    });
    const named = labels.flatMap((label) => ['-L', label]);
    const { status, out } = tryGit(['merge-file', '--stdout', '--quiet', ...named, ...files], { cwd: folder });
    // The number of conflicts, at most 127. Above it is an error: a file is binary.
    if (status > 127) return undefined;
    const file = { mode: yours.mode === base.mode ? next.mode : yours.mode, bytes: out };
    return status === 0 ? { outcome: 'merged', path, file } : { outcome: 'conflict', path, file, sides };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What describes the fork itself. */
const OWN = ['name', 'version', 'description', 'private', 'license', 'author', 'repository', 'homepage', 'bugs'];
/** What npm installs by. */
const INSTALLED = 'dependencies devDependencies optionalDependencies overrides allowScripts workspaces'.split(' ');

export interface MergedPackage {
  readonly value: { readonly [key: string]: Json };
  /** In words: entries that both have changed. The fork's were kept. */
  readonly kept: readonly string[];
  readonly mustInstall: boolean;
}

/** Takes over what the template has changed, key by key. Entries that the fork has added or changed stay. */
export function mergePackages(base: Json, next: Json, yours: Json): MergedPackage {
  const kept: string[] = [];
  const value = mergeJson(ofEngine(base), ofEngine(next), yours, [], kept);
  if (!isObject(value) || !isObject(yours)) throw new TypeError('package.json is not an object');
  const mustInstall = INSTALLED.some((key) => !isDeepStrictEqual(value[key], yours[key]));
  return { value, kept, mustInstall };
}

function ofEngine(value: Json): Json {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'claimcheck' && !OWN.includes(key)));
}

type Maybe = Json | undefined;

function mergeJson(base: Maybe, next: Maybe, yours: Maybe, path: readonly string[], kept: string[]): Maybe {
  if (isDeepStrictEqual(base, next) || isDeepStrictEqual(next, yours)) return yours;
  if (isDeepStrictEqual(base, yours)) return next;
  if (isObject(next) && isObject(yours)) {
    const before = isObject(base) ? base : {};
    const keys = new Set([...Object.keys(yours), ...Object.keys(next)]);
    const entries = [...keys].flatMap((key): [string, Json][] => {
      const value = mergeJson(before[key], next[key], yours[key], [...path, key], kept);
      return value === undefined ? [] : [[key, value]];
    });
    return Object.fromEntries(entries);
  }
  kept.push(`${path.join('.')}: yours ${inWords(yours)}, the template's ${inWords(next)}`);
  return yours;
}

function inWords(value: Maybe): string {
  return value === undefined ? 'is deleted' : `is ${JSON.stringify(value)}`;
}
