import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const readme = readFileSync('README.md', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

it('the README shows the code as it is', () => {
  const shown = Array.from(readme.matchAll(/```ts\n\/\/ (src\/\S+)\n(.*?)```/gs), ([, file = '', code = '']) => ({
    file,
    code,
  }));
  expect(shown.length).toBeGreaterThan(0);
  for (const { file, code } of shown) expect(code).toBe(readFileSync(file, 'utf8'));
});

it('the README names every command, and no other', () => {
  for (const script of Object.keys(scripts)) expect(readme).toMatch(new RegExp(`(npm |npm run |\`)${script}\\b`));
  for (const [, name = ''] of readme.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(name);
});

it('every file that the documentation points to is there', () => {
  for (const page of ['README.md', 'docs/guarantees.md', 'docs/runbook.md']) {
    const text = readFileSync(page, 'utf8');
    for (const [, file = ''] of text.matchAll(/`(test\/[\w/.-]+\.ts)`/g))
      expect(() => readFileSync(file)).not.toThrow();
  }
});
