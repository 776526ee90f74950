import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sampleOf } from '../../cli/samples/samples.ts';
import { providers } from '../../src/providers/index.ts';
import { signaturePlaces } from '../../src/verify/index.ts';
import { proofs } from '../../workshop/proofs.ts';
import { render } from '../../workshop/provider-table.ts';

it('docs/providers.md is what npm run -w engine docs:providers writes', () => {
  expect(readFileSync('docs/providers.md', 'utf8')).toBe(render());
});

it('the SDKs that docs/providers.md names as proof are the packages that the tests import', () => {
  const source = readFileSync('engine/test/receiver/providers/oracles.ts', 'utf8');
  // The package's name without a path inside it.
  const imported = Array.from(source.matchAll(/ from '((?:@[^/']+\/)?[^.@'][^/']*)/g), ([, name = '']) => name);
  const packages = new Set(imported.filter((name) => !/^(node:|vitest$)/.test(name)));
  expect([...packages].sort()).toEqual([...new Set(Object.values(proofs).flatMap(({ sdk }) => sdk?.sdk ?? []))].sort());
});

describe.each(Object.entries(providers))('%s', (name, provider) => {
  it('has its name, its page, a sample, and data without contradictions', () => {
    expect(provider.name).toBe(name);
    expect(provider.docs.length).toBeGreaterThan(20);
    expect(sampleOf(provider).types.length).toBeGreaterThan(0);
    // Replay keys and `bodiesRepeat` are about unsigned ids. If the id is signed, only the signature can be a replay
    // key, or the hash of the body that it covers.
    const { signed, bodiesRepeat, replayKey = [] } = provider.id;
    const { scheme } = provider;
    const covered = [...signaturePlaces(scheme), ...('bodyHash' in scheme ? [scheme.bodyHash ?? []].flat() : [])];
    const keys = [replayKey].flat();
    if (signed) expect(keys.filter((key) => !covered.some((place) => key.startsWith(`{${place}}`)))).toEqual([]);
    if (signed) expect(bodiesRepeat).toBeUndefined();
    // A header's name is compared as it is written in the data, and `Headers` makes its names lower-case.
    expect(JSON.stringify(provider).match(/header:[^}#"]*[A-Z]/)).toBeNull();
  });
});
