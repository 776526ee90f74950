import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// Only docs/: the README of a fork is its owner's.
const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((page) => page.endsWith('.md'));

it.each(pages)('docs/%s points only to files that exist', (page) => {
  const text = readFileSync(`docs/${page}`, 'utf8');
  for (const [, file = ''] of text.matchAll(/`((?:test|src|scripts|workshop)\/[\w/.-]+\.tsx?)`/g)) {
    expect(() => readFileSync(file)).not.toThrow();
  }
});
