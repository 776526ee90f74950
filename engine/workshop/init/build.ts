import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OFFLINE } from '../../cli/config/worker-config.ts';
import type { Files } from '../../cli/lib/fork-files.ts';
import { UserError } from '../../cli/lib/user-error.ts';
import { readFolder } from './files.ts';
import { write } from './replace.ts';

/** Without network: package-lock.json has everything that a fork needs, and more. */
const LOCK = 'npm install --package-lock-only --offline --ignore-scripts --no-audit --no-fund';

/** Completes the files of a fork in a temporary folder, with what only tools can write. */
export function buildFork(files: Files): Files {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-init-'));
  try {
    for (const [path, file] of files) write(join(folder, path), file);
    run(folder, LOCK);
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction');
    run(folder, 'node engine/cli/run.mjs types');
    // create-cloudflare has written into tsconfig.json, in a form of its own.
    run(folder, 'npx biome format --write .');
    return readFolder(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(cwd: string, command: string): void {
  // In a shell, because on Windows npm is a script for one.
  const { status, stdout, stderr } = spawnSync(command, {
    cwd,
    shell: true,
    encoding: 'utf8',
    env: { ...process.env, ...OFFLINE },
  });
  if (status !== 0) throw new UserError(`nothing was changed, because this failed: ${command}\n${stdout}${stderr}`);
}
