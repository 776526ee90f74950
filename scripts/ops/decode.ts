import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { secretName, unseal } from '../../src/receiver/secrets.ts';
import { requireVar } from '../config/dev-vars.ts';
import { CONFIGS, OFFLINE, type WorkerKind } from '../config/worker-config.ts';
import { mapPosition, readBundle } from '../lib/positions.ts';
import { UserError } from '../lib/user-error.ts';
import { WRONG_USAGE } from './api.ts';

// What a log line says in a form that nobody can read: `position` and `sealed`.

/** The places in the files of this checkout that the `position` of a log line names: the Worker is built again. */
export function placesOf(position: string | undefined, worker: WorkerKind): string[] {
  if (!position || !/:\d+:\d+/.test(position)) {
    throw new UserError("position takes that of a log line, such as 'handle (index.js:120:9)'", WRONG_USAGE);
  }
  const folder = resolve('node_modules/.cache/claimcheck/position', worker);
  const wrangler = 'node_modules/wrangler/bin/wrangler.js';
  execFileSync(process.execPath, [wrangler, 'deploy', '--dry-run', '--outdir', folder, '-c', CONFIGS[worker]], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...OFFLINE },
  });
  return mapPosition(position, readBundle(folder));
}

/** The secret that a provider has sent to a source with `awaitsSecret`. */
export async function unsealed([source, sealed]: readonly string[]): Promise<string> {
  if (!source || !sealed) throw new UserError('unseal takes a source, and "sealed" of the log line', WRONG_USAGE);
  const name = secretName(source);
  return unseal(sealed, requireVar(name)).catch(() => {
    throw new UserError(`the value was not encrypted with this ${name}, or it is not complete`);
  });
}
