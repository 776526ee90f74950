import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The package's folder. This file is TypeScript in a workspace, or JavaScript below dist/. */
export const ENGINE = (() => {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
})();
