// YOURS: what takes the place of the real world on your machine. It is never deployed.

import { defineSamples, type OutsideAnswer, type SampleBody } from 'claimcheck';
import { sources } from './sources.ts';

const mail: SampleBody = ({ id, type, now }) => ({
  id,
  type,
  created_at: now.toISOString(),
  email: 'person@example.com',
});

/** Bodies for `npm run send`, `npm run demo` and your tests. A type that is not named here gets its provider's sample. */
export const samples = defineSamples(sources, {
  sesmetric: { delivery: mail, bounce: mail },
  github: {
    push: ({ id }) => ({ ref: 'refs/heads/main', after: id, repository: { full_name: 'octo-org/sample' } }),
  },
});

/** What calls to the outside are answered: JSON, or a Response, which may fail. All others are answered `{}`. */
export const answers: OutsideAnswer = ({ method, path }) => {
  const repository = /^\/repos\/([^/]+\/[^/]+)$/.exec(path)?.[1];
  if (method !== 'GET' || !repository) return undefined;
  return { full_name: repository, default_branch: 'main', pushed_at: new Date().toISOString() };
};
