import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder for this run's files. Each run has its own. */
export const FOLDER = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));

process.on('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
