import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['changed'],
  id: short,
  body: (_id, _type, now) => ({
    base: { id: 'app0sample' },
    webhook: { id: 'ach0sample' },
    timestamp: now.toISOString(),
  }),
};
