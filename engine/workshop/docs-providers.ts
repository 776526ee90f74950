import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { render } from './provider-table.ts';

const FILE = 'docs/providers.md';

/** Writes docs/providers.md from the data. With --check, only fails if the file is out of date. */
export default async function main(): Promise<void> {
  const { values } = readArguments({ options: { check: { type: 'boolean', default: false } } });
  const text = render();
  if (values.check) {
    if (existsSync(FILE) && readFileSync(FILE, 'utf8') === text) return void console.log(`${FILE} is up to date`);
    throw new UserError(`${FILE} is out of date: run npm run -w engine docs:providers and commit the file`);
  }
  mkdirSync('docs', { recursive: true });
  writeFileSync(FILE, text);
  console.log(`wrote ${FILE}`);
}
