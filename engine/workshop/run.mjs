// Runs a command of the engine's makers: `npm run -w engine faults`. Their packages are in engine/workshop, separate
// from an app's packages, and are installed when a command first needs them.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail, run } from '../cli/lib/run.mjs';

/** Commands that don't need the makers' packages. */
const LIGHT = ['init', 'pack', 'forks'];
/**
 * Folders that get a link to the packages, because Node looks for them only in a file's folder and the folders above.
 */
const ROOMS = ['test', 'bench'];

const [name = '', ...args] = process.argv.slice(2);
const workshop = fileURLToPath(new URL('.', import.meta.url));
process.chdir(join(workshop, '../..'));
const file = new URL(name === 'bench' ? '../bench/bench.ts' : `./${name}.ts`, import.meta.url);
if (!existsSync(file)) fail('workshop', `there is no command ${name}`);
if (!LIGHT.includes(name)) install();
await run(name, file, args);

function install() {
  const lock = readFileSync(join(workshop, 'package-lock.json'), 'utf8');
  const installed = join(workshop, 'node_modules/.claimcheck-lock.json');
  if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
    console.log("installing the packages of the engine's own tests (once) …");
    const { status } = spawnSync('npm ci --no-audit --no-fund --loglevel=error', {
      cwd: workshop,
      shell: true,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) fail(name, `npm ci in ${workshop} failed: see above`);
    writeFileSync(installed, lock);
  }
  for (const room of ROOMS) {
    const link = join(workshop, '..', room, 'node_modules');
    rmSync(link, { force: true });
    symlinkSync(join('..', 'workshop', 'node_modules'), link, 'junction');
  }
}
