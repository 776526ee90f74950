import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readArguments } from './local/arguments.ts';
import { render } from './local/provider-table.ts';
import { UserError } from './local/user-error.ts';

const FILE = 'docs/providers.md';

/** Writes docs/providers.md from the data; with --check it only says whether that has been done. */
export default async function main(): Promise<void> {
  const { values } = readArguments({ options: { check: { type: 'boolean', default: false } } });
  const text = render();
  if (values.check) {
    if (existsSync(FILE) && readFileSync(FILE, 'utf8') === text) return void console.log(`${FILE} is up to date`);
    throw new UserError(`${FILE} is out of date: npm run docs:providers, and commit what it writes`);
  }
  mkdirSync('docs', { recursive: true });
  writeFileSync(FILE, text);
  console.log(`wrote ${FILE}`);
}
