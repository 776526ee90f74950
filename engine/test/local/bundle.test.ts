import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../cli/config/worker-config.ts';
import { providers } from '../../src/providers/index.ts';
import { bundle } from '../../workshop/bundle.ts';
import { sources } from '../fixture/sources.ts';

let folder = '';
let receiver = '';
let consumer = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'claimcheck-bundle-'));
  receiver = bundleOf('engine/test/fixture/wrangler.toml');
  consumer = bundleOf('engine/test/fixture/wrangler.consumer.toml');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function bundleOf(path: string): string {
  const { name, main, raw } = readConfig(path);
  return readFileSync(bundle(join(dirname(path), main), raw, join(folder, name)), 'utf8');
}

const named = new Set(Object.values(sources).map(({ provider }) => provider.name));
const isThere = (name: string) => receiver.includes(`docs: "${providers[name]?.docs}"`);

it('neither receiver nor consumer has anything of the console in its bundle', () => {
  for (const code of [receiver, consumer]) {
    expect(code).not.toContain('/ops/');
    expect(code).not.toContain('OPS_TOKEN');
  }
});

it('the consumer’s bundle has neither HTTP routing nor what keeps a local run from calling the outside', () => {
  expect(receiver).toContain('node_modules/hono');
  expect(consumer).not.toContain('node_modules/hono');
  expect(consumer).not.toContain('a local run must not call');
});

it('only the providers that a source names reach the bundle of the receiver', () => {
  expect(Object.keys(providers).filter(isThere).sort()).toEqual([...named].sort());
});

it('only the consumer of an app that reconciles has the code of it in its bundle', () => {
  expect(consumer).not.toContain('api.stripe.com');
  expect(consumer).not.toContain('claimcheck-reconciled');
});
