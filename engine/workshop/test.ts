import { spawnSync } from 'node:child_process';
import { programOf } from '../cli/lib/app.ts';
import { chromiumPath, NO_CHROMIUM } from './chromium.ts';

/** Runs all tests of the app and the engine except the faults, which have their own command. */
export default async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const isChosen = args.some((arg) => arg.startsWith('--project'));
  const projects = isChosen ? [] : ['--project=!faults'];
  const { status } = spawnSync(
    process.execPath,
    [programOf('vitest'), 'run', '-c', 'engine/test/vitest.config.ts', ...projects, ...args],
    { stdio: 'inherit' },
  );
  // Printed last, so that it is noticed.
  const isWhole = args.every((arg) => arg.startsWith('-'));
  if (isWhole && !chromiumPath) console.log(`The console was not tested in a browser: ${NO_CHROMIUM}`);
  process.exitCode = status ?? 1;
}
