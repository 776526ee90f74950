import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { render } from '../../scripts/local/provider-table.ts';
import { samples } from '../../scripts/local/samples.ts';
import { providers } from '../../src/providers/index.ts';

it('docs/providers.md says what the data says', () => {
  expect(readFileSync('docs/providers.md', 'utf8')).toBe(render());
});

describe.each(Object.entries(providers))('%s', (name, provider) => {
  it('has its name, its page, a sample, and nothing that contradicts itself', () => {
    expect(provider.name).toBe(name);
    expect(provider.docs.length).toBeGreaterThan(20);
    expect(samples[name]?.types.length).toBeGreaterThan(0);
    // A fingerprint, and a body that repeats, are about ids that aren't signed.
    if (provider.id.signed) expect([provider.id.bodiesRepeat, provider.id.once]).toEqual([undefined, undefined]);
    // Headers are looked up as they are written here.
    expect(JSON.stringify(provider).match(/header:[^}#"]*[A-Z]/)).toBeNull();
  });
});
