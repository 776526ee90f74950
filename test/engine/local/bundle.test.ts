import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OFFLINE } from '../../../scripts/local/offline.ts';
import { providers } from '../../../src/providers/index.ts';
import { sources } from '../fixture/sources.ts';

let folder = '';
let bundle = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'claimcheck-bundle-'));
  const wrangler = [
    'node_modules/wrangler/bin/wrangler.js',
    'deploy',
    '--dry-run',
    '-c',
    'test/engine/fixture/wrangler.toml',
  ];
  // An absolute folder: wrangler takes a relative one from where its configuration is.
  execFileSync(process.execPath, [...wrangler, '--outdir', folder], {
    stdio: 'ignore',
    env: { ...process.env, ...OFFLINE },
  });
  bundle = readFileSync(join(folder, 'receiver.js'), 'utf8');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const named = new Set(Object.values(sources).map(({ provider }) => provider.name));
const isThere = (name: string) => bundle.includes(`docs: "${providers[name]?.docs}"`);

it('only the providers that a source names reach the bundle of the receiver', () => {
  expect(Object.keys(providers).filter(isThere).sort()).toEqual([...named].sort());
});
