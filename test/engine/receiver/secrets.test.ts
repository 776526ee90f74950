import { expect, it } from 'vitest';
import { secretsOf } from '../../../src/receiver/secrets.ts';

it('the current secret comes first, then the previous one while there is one', () => {
  const current = { GITHUB_ORG_WEBHOOK_SECRET: 'new' };
  expect(secretsOf('github-org', current)).toEqual(['new']);
  expect(secretsOf('github-org', { ...current, GITHUB_ORG_WEBHOOK_SECRET_PREVIOUS: '' })).toEqual(['new']);
  expect(secretsOf('github-org', { ...current, GITHUB_ORG_WEBHOOK_SECRET_PREVIOUS: 'old' })).toEqual(['new', 'old']);
});

it('a source that has lost its current secret does not go on with the previous one', () => {
  for (const env of [{}, { GITHUB_ORG_WEBHOOK_SECRET: '' }]) {
    expect(secretsOf('github-org', { ...env, GITHUB_ORG_WEBHOOK_SECRET_PREVIOUS: 'old' })).toEqual([]);
  }
});
