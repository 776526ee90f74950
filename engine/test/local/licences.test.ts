import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { assertLicensed, type BundleMeta, packagesIn } from '../../workshop/licences.ts';

const folder = mkdtempSync(join(tmpdir(), 'claimcheck-licences-'));

/** A package as npm would install it. */
function install(path: string, manifest: object): string {
  mkdirSync(join(folder, 'node_modules', path), { recursive: true });
  writeFileSync(join(folder, 'node_modules', path, 'package.json'), JSON.stringify(manifest));
  return join(folder, 'node_modules', path, 'dist/index.js');
}

const bundled = (bytes: Record<string, number>): BundleMeta => ({
  outputs: {
    'worker.js': {
      inputs: Object.fromEntries(Object.entries(bytes).map(([file, bytesInOutput]) => [file, { bytesInOutput }])),
    },
  },
});

let files: Record<'free' | 'scoped' | 'nested' | 'unlicensed', string>;

beforeAll(() => {
  files = {
    free: install('free', { name: 'free', version: '1.0.0', license: 'MIT' }),
    scoped: install('@scope/scoped', { name: '@scope/scoped', version: '1.0.0', license: 'Apache-2.0' }),
    nested: install('free/node_modules/nested', { name: 'nested', version: '2.0.0', license: 'GPL-3.0-only' }),
    unlicensed: install('unlicensed', { name: 'unlicensed', version: '3.0.0' }),
  };
});

afterAll(() => rmSync(folder, { recursive: true }));

it('the packages of a bundle are those whose code is in it, once each', () => {
  const { free, scoped, nested } = files;
  const meta = bundled({ [free]: 10, [`${free}x`]: 10, [scoped]: 10, [nested]: 0, 'src/index.ts': 10 });
  expect(packagesIn(meta)).toEqual([
    { name: '@scope/scoped', version: '1.0.0', licence: 'Apache-2.0' },
    { name: 'free', version: '1.0.0', licence: 'MIT' },
  ]);
  expect(() => assertLicensed(packagesIn(meta))).not.toThrow();
});

it('a package of a package is found too, and refused with its name if its licence is not allowed', () => {
  const packages = packagesIn(bundled({ [files.free]: 10, [files.nested]: 1 }));
  expect(() => assertLicensed(packages)).toThrow(/^nested@2\.0\.0: GPL-3\.0-only\n/);
});

it('a package without a licence is refused', () => {
  expect(() => assertLicensed(packagesIn(bundled({ [files.unlicensed]: 1 })))).toThrow('unlicensed@3.0.0: none');
});
