import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['changed'],
  id: short,
  body: () => ({ list_folder: { accounts: ['dbid:sample'] } }),
};
