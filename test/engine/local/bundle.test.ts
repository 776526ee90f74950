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
  bundle = bundleOf('test/engine/fixture/wrangler.toml', 'receiver.js');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function bundleOf(config: string, file: string): string {
  const wrangler = ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run', '-c', config];
  // An absolute folder: wrangler takes a relative one from where its configuration is.
  execFileSync(process.execPath, [...wrangler, '--outdir', folder], {
    stdio: 'ignore',
    env: { ...process.env, ...OFFLINE },
  });
  return readFileSync(join(folder, file), 'utf8');
}

const named = new Set(Object.values(sources).map(({ provider }) => provider.name));
const isThere = (name: string) => bundle.includes(`docs: "${providers[name]?.docs}"`);

it('a receiver that is not given the console has nothing of it in its bundle', () => {
  expect(bundle).toContain('Cloudflare Access has not confirmed');
  const plain = bundleOf('test/engine/receiver/plain/wrangler.toml', 'worker.js');
  expect(plain).not.toContain('Cloudflare Access has not confirmed');
  expect(plain).not.toContain('/ops/assets');
});

it('only the providers that a source names reach the bundle of the receiver', () => {
  expect(Object.keys(providers).filter(isThere).sort()).toEqual([...named].sort());
});
