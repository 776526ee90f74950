import { spawnSync } from 'node:child_process';

/** Stryker's mutants of pure code: see stryker/README.md. */
export default function main(): void {
  const stryker = 'engine/workshop/node_modules/@stryker-mutator/core/bin/stryker.js';
  const args = [stryker, 'run', 'engine/workshop/stryker/config.mjs', ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
