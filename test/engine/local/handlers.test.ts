import { expect, it } from 'vitest';
import { typesWithoutHandler } from '../../../scripts/config/configuration.ts';
import { defineHandler } from '../../../src/kit/index.ts';
import { sources } from '../fixture/sources.ts';

it('npm run check names the types that a source asks for and no handler takes', () => {
  const handler = defineHandler({ handle: () => [] });
  const { stripe, github } = sources;
  const asked = { stripe, github: { ...github, types: ['push', 'toString'] } };
  expect(typesWithoutHandler(asked, { stripe: { 'charge.succeeded': handler }, github: { pushed: handler } })).toEqual([
    'no handler for github/push: write one, or remove the type from src/app/sources.ts',
    'no handler for github/toString: write one, or remove the type from src/app/sources.ts',
  ]);
});
