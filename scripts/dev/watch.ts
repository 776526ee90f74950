import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** An editor may write a file in several steps. */
const SETTLED_AFTER_MS = 100;

/** Calls back after any of the files has changed. Their folders are watched, because editors replace files. */
export function watchFiles(files: readonly string[], onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watchers = [...new Set(files.map(dirname))].map((folder) => {
    const names = new Set(files.filter((file) => dirname(file) === folder).map((file) => basename(file)));
    return watch(folder, (_event, name) => {
      if (name !== null && !names.has(name)) return;
      clearTimeout(timer);
      timer = setTimeout(onChange, SETTLED_AFTER_MS);
    });
  });
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}

/** Calls back after any file in the folder, or in a folder below it, has changed. */
export function watchFolder(folder: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(onChange, SETTLED_AFTER_MS);
  });
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
