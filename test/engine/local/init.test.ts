import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Files } from '../../../scripts/lib/fork-files.ts';
import { filesOf, readFolder } from '../../../workshop/init/files.ts';
import { changesBetween, replaceFiles, write } from '../../../workshop/init/replace.ts';

// What a fork has as a whole is tried by .ci/fork.ts.

const template = readFolder();
const OPTIONS = { name: 'acme', empty: false, commit: 'abc', withNode: false };
const file = (text: string) => ({ mode: '100644', bytes: Buffer.from(text) });
const textOf = (files: Files, path: string) => files.get(path)?.bytes.toString() ?? '';
const packageOf = (files: Files) => JSON.parse(textOf(files, 'package.json'));

const folder = mkdtempSync(join(tmpdir(), 'claimcheck-replace-'));
const home = process.cwd();
afterAll(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true });
});

it('the wrangler.toml that replaces one of create-cloudflare is the template’s', () => {
  expect(textOf(template, 'workshop/init/wrangler.toml')).toBe(textOf(template, 'wrangler.toml'));
  const rewritten = file('#:schema node_modules/wrangler/config-schema.json\nname = "my-app"\n');
  const fork = filesOf(new Map(template).set('wrangler.toml', rewritten), OPTIONS);
  expect(textOf(fork, 'wrangler.toml')).toBe(textOf(template, 'wrangler.toml').replaceAll('claimcheck-', 'acme-'));
});

it('a fork knows what it was made from, and has Node as a package only if it needs it', () => {
  expect(packageOf(filesOf(template, OPTIONS))).toMatchObject({ name: 'acme', claimcheck: { commit: 'abc' } });
  expect(packageOf(filesOf(template, { ...OPTIONS, commit: undefined })).claimcheck.commit).toBeNull();
  const packages = (withNode: boolean) => packageOf(filesOf(template, { ...OPTIONS, withNode })).devDependencies;
  expect(packages(false)).not.toHaveProperty('node');
  expect(packages(true).node).toBe(packageOf(template).devDependencies.node);
  expect(Object.keys(packages(true))).toEqual(Object.keys(packages(true)).sort());
});

it('without the sample app, nothing of it is left', () => {
  const fork = filesOf(template, { ...OPTIONS, empty: true });
  const names = [...fork.keys()].filter((path) => /^(src|test|drizzle)\/app\//.test(path));
  expect(names.filter((path) => /invoice|email|repository|receipt|sample_app/.test(path))).toEqual([]);
  for (const path of ['wrangler.toml', 'wrangler.consumer.toml', '.dev.vars.example']) {
    expect(textOf(fork, path)).not.toMatch(/STRIPE|GITHUB|RECEIPTS/);
  }
});

it('files are replaced, or if that fails in the middle, everything is as it was', () => {
  process.chdir(folder);
  const before: Files = new Map([
    ['changed', file('1')],
    ['makers/tool', { ...file('2'), mode: '100755' }],
    ['kept', file('3')],
  ]);
  for (const [path, one] of before) write(path, one);
  const after: Files = new Map([
    ['changed', file('4')],
    ['new/file', file('5')],
    ['kept', file('3')],
  ]);
  // A file can't be written into a file.
  const blocked = new Map(after).set('kept/below', file('6'));
  expect(() => replaceFiles(changesBetween(before, blocked))).toThrow(/^everything is as it was, because this failed/);
  expect(readFolder()).toEqual(new Map([...before].sort()));

  write('makers/node_modules/ignored', file(''));
  replaceFiles(changesBetween(before, after));
  expect(readFolder()).toEqual(new Map([...after].sort()));
  expect(() => readFileSync('makers/node_modules/ignored')).toThrow('ENOENT');
});
