import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { File, Files } from '../../cli/lib/fork-files.ts';
import { UserError } from '../../cli/lib/user-error.ts';

export interface Changes {
  readonly removed: readonly string[];
  readonly written: readonly { readonly path: string; readonly file: File }[];
  /** Folders of which nothing stays. */
  readonly folders: readonly string[];
}

export function changesBetween(before: Files, after: Files): Changes {
  const removed = [...before.keys()].filter((path) => !after.has(path));
  const written = [...after]
    .filter(([path, { bytes }]) => !before.get(path)?.bytes.equals(bytes))
    .map(([path, file]) => ({ path, file }));
  const kept = new Set([...after.keys()].flatMap(foldersOf));
  const gone = new Set(removed.flatMap(foldersOf).filter((folder) => !kept.has(folder)));
  return { removed, written, folders: [...gone] };
}

/** Does all of it, or nothing. */
export function replaceFiles({ removed, written, folders }: Changes): void {
  const before = new Map<string, File | undefined>();
  const remember = (path: string) => before.set(path, existsSync(path) ? read(path) : undefined);
  // With a listener, Ctrl-C waits until this is done.
  const wait = () => {};
  process.on('SIGINT', wait);
  try {
    for (const { path, file } of written) {
      remember(path);
      write(path, file);
    }
    for (const path of removed) {
      remember(path);
      rmSync(path);
    }
  } catch (error) {
    for (const [path, file] of before) {
      if (file) write(path, file);
      else removeFile(path);
    }
    throw new UserError(
      `everything is as it was, because this failed: ${error instanceof Error ? error.message : error}`,
    );
  } finally {
    process.off('SIGINT', wait);
  }
  // What git ignores is still in them, such as packages of the benchmarks.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

export function read(path: string): File {
  return { mode: statSync(path).mode & 0o100 ? '100755' : '100644', bytes: readFileSync(path) };
}

export function write(path: string, { mode, bytes }: File): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  if (mode === '100755') chmodSync(path, 0o755);
}

function removeFile(path: string): void {
  if (existsSync(path)) rmSync(path);
  try {
    for (const folder of foldersOf(path)) rmdirSync(folder);
  } catch {
    // Something else is in it.
  }
}

/** Of `a/b/c.ts`: `a/b`, and `a`. */
function foldersOf(path: string): string[] {
  const folder = dirname(path);
  return folder === '.' ? [] : [folder, ...foldersOf(folder)];
}
