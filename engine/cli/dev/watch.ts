import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** An editor may write a file in several steps. */
const QUIET_MS = 100;

/** Calls back after any of the files has changed. Watches their folders, because editors replace files. */
export function watchFiles(files: readonly string[], onChange: () => void): () => void {
  const stops = [...new Set(files.map(dirname))].map((folder) => {
    const names = new Set(files.filter((file) => dirname(file) === folder).map((file) => basename(file)));
    return watchFolder(folder, onChange, { isWatched: (name) => names.has(name), recursive: false });
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/** Calls back after any file in the folder or below it has changed. */
export function watchFolder(
  folder: string,
  onChange: () => void,
  { isWatched, recursive } = { isWatched: (_name: string) => true, recursive: true },
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive }, (_event, name) => {
    if (name !== null && !isWatched(name)) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, QUIET_MS);
  });
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
