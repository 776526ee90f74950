import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where this run keeps its files. Two runs have two folders. */
export const FOLDER = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));

process.on('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
