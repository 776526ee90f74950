import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['push', 'ping'],
  body: (id) => ({ ref: 'refs/heads/main', after: id, repository: { full_name: 'octo-org/sample' } }),
};
