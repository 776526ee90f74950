import { spawnSync } from 'node:child_process';
import { programOf } from '../cli/lib/app.ts';

/** All tests but the faults, which have a command of their own: the app's, and the engine's. */
export default async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const isChosen = args.some((arg) => arg.startsWith('--project'));
  const projects = isChosen ? [] : ['--project=!faults'];
  const { status } = spawnSync(
    process.execPath,
    [programOf('vitest'), 'run', '-c', 'engine/test/vitest.config.ts', ...projects, ...args],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
}
