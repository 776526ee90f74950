import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIGS, readConfig } from '../cli/config/worker-config.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import { bundle } from './bundle.ts';

const FOLDER = 'engine/test/faults/previous';

/**
 * Saves this version's Workers and the engine's migrations, so that the next version can be tested alongside them. Run
 * it at a release, after the last change. The files are committed, because a shallow clone has neither history nor
 * tags.
 */
export default async function main(): Promise<void> {
  readArguments({});
  const settings = { ...readConfig(CONFIGS.receiver).raw, minify: true };
  const built = bundle(join(FOLDER, 'both.ts'), settings, 'node_modules/.cache/claimcheck/previous');
  const worker = join(FOLDER, 'worker.js');
  writeFileSync(worker, readFileSync(built, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  console.log(`${worker}: ${Math.round(statSync(worker).size / 1024)} KiB`);
  const migrations = join(FOLDER, 'engine');
  rmSync(migrations, { recursive: true, force: true });
  // Skip snapshots, which are needed only to generate the next migration.
  cpSync('engine/drizzle', migrations, { recursive: true, filter: (path) => !path.endsWith('_snapshot.json') });
  console.log(migrations);
}
