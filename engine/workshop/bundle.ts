import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, parse, resolve } from 'node:path';
import { OFFLINE } from '../cli/config/worker-config.ts';

/** The build settings in a wrangler file. */
interface BuildSettings {
  readonly compatibility_date?: string | undefined;
  readonly minify?: boolean | undefined;
  readonly keep_names?: boolean | undefined;
}

/**
 * Builds a Worker as `wrangler deploy` would, and returns the path of its single file. Empties `folder` first, and adds
 * esbuild's `meta.json`, which lists what the Worker contains.
 */
export function bundle(
  main: string,
  { compatibility_date, minify, keep_names }: BuildSettings,
  folder: string,
): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'wrangler.json');
  writeFileSync(
    config,
    JSON.stringify({ name: 'bundle', main: resolve(main), compatibility_date, minify, keep_names }),
  );
  // Absolute, because wrangler resolves paths from its configuration's folder.
  const out = resolve(folder, 'out');
  const wrangler = ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run'];
  execFileSync(
    process.execPath,
    [...wrangler, '--outdir', out, '--metafile', resolve(folder, 'meta.json'), '-c', config],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...OFFLINE } },
  );
  return join(out, `${parse(main).name}.js`);
}
