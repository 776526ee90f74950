import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** It runs TypeScript files as they are. wrangler needs 22. */
export const OLDEST_NODE = '22.18';

/** The version of the machine's own Node, if it is new enough. The first on the PATH is that of the template's packages. */
export function ownNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !/node_modules[\\/]\.bin$/.test(folder));
  const script = 'process.stdout.write(process.features.typescript ? process.version : "")';
  for (const folder of folders) {
    const { status, stdout } = spawnSync(join(folder, 'node'), ['--eval', script], { encoding: 'utf8' });
    if (status === 0) return stdout || undefined;
  }
  return undefined;
}
