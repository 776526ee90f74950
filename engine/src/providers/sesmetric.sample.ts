import { PERSON, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['delivery', 'bounce'],
  body: (id, type, now) => ({ id, type, created_at: now.toISOString(), email: PERSON }),
};
