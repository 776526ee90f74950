import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['repo:push'],
  body: (id) => ({ repository: { full_name: 'sample/sample' }, push: { changes: [{ new: { name: id } }] } }),
};
