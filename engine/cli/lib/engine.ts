import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The package's own folder: as TypeScript in a workspace, or as JavaScript below dist/. */
export const ENGINE = (() => {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
})();
