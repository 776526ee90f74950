import { spawnSync } from 'node:child_process';
import { UserError } from './user-error.ts';

// What a fork has of the template's files. `init` makes a fork by it, and `upgrade` makes the same of two versions of the
// template to compare them with the fork. The lists are data of the template, so that an upgrade, which runs the fork's older
// code, reads those of each version.

/** By its path. The mode is git's: 100755 is a program. */
export interface File {
  readonly mode: string;
  readonly bytes: Buffer;
}

export type Files = ReadonlyMap<string, File>;

export interface Fork {
  readonly files: Files;
  /** Whether a path is the engine's: the rest is the fork's own, and an upgrade leaves it alone. */
  isEngine(path: string): boolean;
}

/** A list has paths and beginnings of paths: `src/app/` is all that is in the folder, `wrangler.` every wrangler file. */
interface Lists {
  /** Only the template's makers need these. */
  readonly makers: readonly string[];
  /** The fork's own from the beginning. */
  readonly own: readonly string[];
  /** What is different in a fork's package.json: a JSON merge patch (RFC 7396), where `null` removes a key. */
  readonly package: Json;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export const LISTS = 'workshop/init/fork.json';
/** Files in here take the place of the template's in a fork, or are only in forks. `{name}` in them is the fork's name. */
export const INSTEAD = 'workshop/init/fork/';

/** Names of Workers and queues begin with the name of the template, and those of a fork with its own. */
const NAMES = /\bclaimcheck-(?=receiver|consumer|ops|events|effects|\$queue)/g;

/** What a fork of this name has of a version of the template, as `init` leaves it. */
export function forkOf(template: Files, name: string): Fork {
  const lists = readJson<Lists>(template, LISTS);
  const files = new Map<string, File>();
  for (const [path, file] of template) {
    if (!isListed(lists.makers, path))
      files.set(
        path,
        withText(file, (text) => renamed(text, name)),
      );
  }
  for (const [path, file] of template) {
    if (path.startsWith(INSTEAD)) {
      files.set(
        path.slice(INSTEAD.length),
        withText(file, (text) => text.replaceAll('{name}', name)),
      );
    }
  }
  const own = merged(merged(readJson(template, 'package.json'), lists.package), { name });
  files.set('package.json', { mode: '100644', bytes: Buffer.from(`${JSON.stringify(own, null, 2)}\n`) });
  return {
    files,
    isEngine: (path) => !isListed(lists.own, path),
  };
}

/** All files of a commit, below the folder that git runs in. */
export function readFiles(cwd: string, commit: string): Files {
  const entries = git(['ls-tree', '-r', '-z', commit], { cwd })
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const [, mode = '', type = '', id = '', path = ''] = /^(\d+) (\w+) (\w+)\t(.*)$/s.exec(line) ?? [];
      // Git itself would not check out such a path.
      if (/(^|\/)(\.\.?|\.git)(\/|$)/i.test(path)) throw new UserError(`${path} is not a path of a checkout`);
      return { mode, type, id, path };
    });
  const blobs = entries.filter(({ type }) => type === 'blob');
  const { out } = tryGit(['cat-file', '--batch'], { cwd, input: blobs.map(({ id }) => `${id}\n`).join('') });
  const contents = new Map<string, Buffer>();
  let offset = 0;
  for (const { id } of blobs) {
    // A line with the id, the type and the size, the bytes, and a line feed.
    const start = out.indexOf('\n', offset) + 1;
    const end = start + Number(out.toString('latin1', offset, start).trim().split(' ')[2]);
    contents.set(id, out.subarray(start, end));
    offset = end + 1;
  }
  // A submodule has no bytes.
  return new Map(entries.map(({ path, mode, id }) => [path, { mode, bytes: contents.get(id) ?? Buffer.alloc(0) }]));
}

export function readJson<Value = Json>(files: Files, path: string): Value {
  return JSON.parse(files.get(path)?.bytes.toString() ?? 'null');
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListed(list: readonly string[], path: string): boolean {
  return list.some((entry) => path.startsWith(entry));
}

export function renamed(text: string, name: string): string {
  return text.replace(NAMES, `${name}-`);
}

/** Latin-1 keeps every byte, also those of an image. */
function withText({ mode, bytes }: File, change: (text: string) => string): File {
  return { mode, bytes: Buffer.from(change(bytes.toString('latin1')), 'latin1') };
}

/** A JSON merge patch. */
function merged(value: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(value) ? value : {}));
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) result.delete(key);
    else result.set(key, merged(result.get(key) ?? null, change));
  }
  return Object.fromEntries(result);
}

export interface GitOptions {
  readonly cwd?: string;
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
}

export interface GitResult {
  readonly status: number;
  readonly out: Buffer;
  readonly error: string;
}

/** Runs git, which may fail. */
export function tryGit(args: readonly string[], { cwd, input, env }: GitOptions = {}): GitResult {
  const { status, stdout, stderr, error } = spawnSync('git', args, {
    cwd,
    input,
    // A wrong URL on GitHub would ask for a user name. A repository that needs a password has a credential helper.
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0', ...env },
    maxBuffer: Number.POSITIVE_INFINITY,
  });
  if (error) throw new UserError(`git could not be run: ${error.message}`);
  return { status: status ?? 1, out: stdout, error: stderr.toString().trim() };
}

/** What git prints. If it fails, an error with what it says. */
export function git(args: readonly string[], options: GitOptions = {}): string {
  const { status, out, error } = tryGit(args, options);
  if (status !== 0) throw new UserError(`git ${args[0]} failed: ${error}`);
  return out.toString();
}
