import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyCheckout } from '../checkout.ts';
import { type Mutant, withFault } from './mutant.ts';

/** What the tests of src need. The fixture's Workers have wrangler files of their own, in test. */
const COPIED = [
  ...['src', 'scripts', 'test', 'workshop', 'drizzle', 'docs'],
  ...['package.json', 'tsconfig.json', 'vitest.config.ts', 'drizzle.config.ts'],
];

/** Copies this checkout, with a fault in one of its files. */
export function makeCopy(folder: string, mutant?: Mutant): void {
  copyCheckout(folder, COPIED, { ownCaches: true });
  if (mutant === undefined) return;
  const file = join(folder, mutant.file);
  writeFileSync(file, withFault(readFileSync(file, 'utf8'), mutant));
}
