import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['changed'],
  id: () => `tr_${short().slice(0, 10)}`,
  body: (id) => ({ id }),
};
