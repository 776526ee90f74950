import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sdks } from '../../../scripts/local/proofs/sdks.ts';
import { render } from '../../../scripts/local/provider-table.ts';
import { samples } from '../../../scripts/local/samples.ts';
import { providers } from '../../../src/providers/index.ts';
import { placesOf } from '../../../src/verify/index.ts';

it('docs/providers.md is what npm run docs:providers writes', () => {
  expect(readFileSync('docs/providers.md', 'utf8')).toBe(render());
});

it('the SDKs that docs/providers.md names as proof are the packages that the tests import', () => {
  const source = readFileSync('test/engine/verify/oracles.ts', 'utf8');
  const imported = Array.from(source.matchAll(/ from '([^.'][^']*)'/g), ([, name]) => name);
  expect(imported.sort()).toEqual([...new Set(Object.values(sdks).map(({ sdk }) => sdk))].sort());
});

describe.each(Object.entries(providers))('%s', (name, provider) => {
  it('has its name, its page, a sample, and nothing that contradicts itself', () => {
    expect(provider.name).toBe(name);
    expect(provider.docs.length).toBeGreaterThan(20);
    expect(samples[name]?.types.length).toBeGreaterThan(0);
    // A fingerprint, and a body that repeats, are about ids that aren't signed. Only a signature may come once even so.
    const { signed, bodiesRepeat, replayKey } = provider.id;
    if (signed) expect([undefined, `{${placesOf(provider.scheme)}}`]).toContainEqual(replayKey);
    if (signed) expect(bodiesRepeat).toBeUndefined();
    // Headers are looked up as they are written here.
    expect(JSON.stringify(provider).match(/header:[^}#"]*[A-Z]/)).toBeNull();
  });
});
