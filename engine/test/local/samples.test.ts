import { describe, expect, it } from 'vitest';
import { eventsIn, makeDelivery, typesToSend } from '../../cli/samples/delivery.ts';
import { sampleOf } from '../../cli/samples/samples.ts';
import { madeUpKeys } from '../../cli/samples/sign.ts';
import { defineProvider } from '../../src/providers/define.ts';
import { providers } from '../../src/providers/index.ts';
import type { Provider } from '../../src/providers/types.ts';

/** The types of the events in a sample, as the receiver reads them. */
async function typesOf(provider: Provider, type: string, body?: string) {
  const source = { provider, types: [] };
  const { signingKey: key } = madeUpKeys(provider);
  const delivery = makeDelivery({ name: 'a-source', source, key, receiver: 'https://example.com', type, body });
  const events = await eventsIn(source, delivery);
  return events.map((event) => event.type);
}

describe.each(Object.entries(providers))('the sample of %s', (_name, provider) => {
  it.each(sampleOf(provider).types)('has the type %s', async (type) => {
    expect(await typesOf(provider, type)).toContain(type);
  });
});

const composed = Object.values(providers).filter(({ type }) => type.some((template) => /\}.+\{/.test(template)));
it.each(composed)('the sample of $name has any type that is composed of several values', async (provider) => {
  const values = Math.max(...provider.type.map((template) => template.split('{').length - 1));
  const type = ['thing', 'was', 'done'].slice(0, values).join('.');
  expect(await typesOf(provider, type)).toEqual([type]);
});

it('GitHub’s type is split into a header and the action in the body, whoever wrote the body', async () => {
  const { github } = providers;
  if (!github) throw new Error('there is no github');
  expect(await typesOf(github, 'issues.opened', '{"action":"opened"}')).toEqual(['issues.opened']);
  expect(await typesOf(github, 'issues.opened', '{"action":"closed"}')).toEqual(['issues.closed']);
  expect(await typesOf(github, 'push')).toEqual(['push']);
});

it('what a source is sent are the types that it names, and not its patterns, or else those of its samples', () => {
  const { github: provider } = providers;
  if (!provider) throw new Error('there is no github');
  const samples = { hooks: { 'issues.opened': () => ({}) } };
  expect(typesToSend('hooks', { provider, types: ['issues.*', 'push'] }, samples)).toEqual(['push']);
  expect(typesToSend('hooks', { provider, types: '*' }, samples)).toEqual(['issues.opened']);
  expect(typesToSend('hooks', { provider, types: '*' })).toEqual([]);
});

it('a provider of your own that composes its type needs no sample', async () => {
  const own = defineProvider({
    name: 'own',
    docs: 'a provider of this test',
    scheme: { signature: 'header:x-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
    id: { at: '{json:id}', signed: true },
    type: ['{header:x-kind}/{json:what.happened}', '{header:x-kind}'],
  });
  expect(await typesOf(own, 'orders/paid')).toEqual(['orders/paid']);
  expect(await typesOf(own, 'orders')).toEqual(['orders']);
});
