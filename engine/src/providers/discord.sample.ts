import { number, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['APPLICATION_AUTHORIZED'],
  id: number,
  body: (id, type, now) => ({
    version: 1,
    application_id: '1000000000000000001',
    type: 1,
    event: { type, timestamp: now.toISOString(), data: { integration_type: 1, scopes: [], user: { id } } },
  }),
};
