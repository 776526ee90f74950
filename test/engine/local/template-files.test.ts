import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readExample } from '../../../scripts/config/dev-vars.ts';
import { CONFIGS, listed, readConfigs } from '../../../scripts/config/worker-config.ts';

// Small files that tools and people expect at the root, and that nothing else would notice when they are out of date.

const read = (path: string) => readFileSync(path, 'utf8');
const { cloudflare, devDependencies } = JSON.parse(read('package.json'));
const descriptions = Object.fromEntries(
  Object.entries<{ description: string }>(cloudflare.bindings).map(([name, { description }]) => [name, description]),
);

it('.dev.vars.example names what the wrangler files require, without values', () => {
  const required = new Set(listed(readConfigs()).flatMap(({ secrets }) => secrets));
  expect(readExample()).toEqual(Object.fromEntries([...required].map((name) => [name, ''])));
});

it('that of a fork without the sample app differs only in the sources', () => {
  const ofFork = read('.dev.vars.example').replace(
    /# Stripe.*GETHOOK_WEBHOOK_SECRET=/s,
    '# You choose it: `openssl rand -hex 32`. The shop signs with it.\nORDERS_WEBHOOK_SECRET=',
  );
  expect(read('workshop/init/empty/.dev.vars.example')).toBe(ofFork);
});

it('the deploy button says of each secret what .dev.vars.example says, and something of each queue', () => {
  const inExample = read('.dev.vars.example').matchAll(/^# (.+)\n(?:# )?(\w+)=$/gm);
  const queues = listed(readConfigs()).flatMap(({ produces }) => Object.keys(produces));
  expect(descriptions).toEqual({
    ...Object.fromEntries([...inExample].map(([, comment, name]) => [name, comment])),
    ...Object.fromEntries(queues.map((name) => [name, expect.stringMatching(/./)])),
  });
});

it.each(Object.values(CONFIGS))('%s uploads source maps', (path) => {
  expect(read(path)).toMatch(/^upload_source_maps = true$/m);
});

it('.nvmrc is the Node that comes with the packages', () => {
  expect(read('.nvmrc').trim()).toBe(devDependencies.node);
});

it('wrangler is the one that the plugin of vitest brings: a second one would be a second workerd', () => {
  const plugin = JSON.parse(read('node_modules/@cloudflare/vitest-plugin/package.json'));
  expect(devDependencies.wrangler).toBe(plugin.dependencies.wrangler);
});
