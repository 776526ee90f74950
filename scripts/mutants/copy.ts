import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Mutant, withFault } from './mutant.ts';

/** What the tests of src need. The fixture's Workers have wrangler files of their own, in test. */
const COPIED = ['src', 'scripts', 'test', 'drizzle', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** Copies this checkout, with a fault in one of its files. The packages are shared. */
export function makeCopy(folder: string, mutant?: Mutant): void {
  for (const name of COPIED) cpSync(name, join(folder, name), { recursive: true });
  // One by one, because tests write into node_modules/.cache and .vite, and several copies run at the same time.
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync('node_modules')) {
    const isWritten = ['.cache', '.vite', '.vite-temp'].includes(name);
    if (!isWritten) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  }
  if (mutant === undefined) return;
  const file = join(folder, mutant.file);
  writeFileSync(file, withFault(readFileSync(file, 'utf8'), mutant));
}
