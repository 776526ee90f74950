import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyWithEngine } from '../checkout.ts';
import { type Mutant, withFault } from './mutant.ts';

/** What the tests of the engine need beside it. */
const COPIED = [
  ...['src', 'test', 'drizzle', 'docs', 'wrangler.toml', 'wrangler.consumer.toml', 'wrangler.ops.toml'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts', 'drizzle.config.ts'],
];

/** Copies this checkout, with a fault in one of its files. */
export function makeCopy(folder: string, mutant?: Mutant): void {
  copyWithEngine(folder, COPIED);
  if (mutant === undefined) return;
  const file = join(folder, mutant.file);
  writeFileSync(file, withFault(readFileSync(file, 'utf8'), mutant));
}
