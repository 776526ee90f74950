import { spawnSync } from 'node:child_process';

/** Stryker's mutants of pure code: see stryker/README.md. */
export default function main(): void {
  const args = ['run', 'engine/workshop/stryker/config.mjs', ...process.argv.slice(2)];
  const { status } = spawnSync('engine/workshop/node_modules/.bin/stryker', args, { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
