import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { OFFLINE, readConfig } from '../cli/config/worker-config.ts';
import { UserError } from '../cli/lib/user-error.ts';
import type { BundleMeta } from './licences.ts';

const FOLDER = 'node_modules/.cache/claimcheck/built';

export interface BuiltWorker {
  /** All modules together: the script, and the files that it imports as texts. */
  readonly code: Buffer;
  readonly meta: BundleMeta;
}

/** A Worker as `wrangler deploy` would send it. */
export function buildWorker(configPath: string): BuiltWorker {
  // Absolute, because wrangler resolves it from the folder of its configuration.
  const folder = resolve(FOLDER, readConfig(configPath).name);
  const meta = join(folder, 'meta.json');
  rmSync(folder, { recursive: true, force: true });
  const args = ['deploy', '--dry-run', '--outdir', folder, '--metafile', meta, '-c', configPath];
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/wrangler', args, {
    encoding: 'utf8',
    env: { ...process.env, ...OFFLINE },
  });
  if (status !== 0) throw new UserError((stdout + stderr).trim());
  const modules = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name));
  const code = Buffer.concat(modules.map((name) => readFileSync(join(folder, name))));
  return { code, meta: JSON.parse(readFileSync(meta, 'utf8')) };
}
