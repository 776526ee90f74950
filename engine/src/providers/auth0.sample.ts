import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['s', 'f'],
  id: short,
  body: (id, type, now) => [{ log_id: id, data: { date: now.toISOString(), type, client_name: 'Sample' } }],
};
