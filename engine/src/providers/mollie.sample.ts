import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['payment-link.paid'],
  id: () => `event_${short()}`,
  body: (id, type, now) => ({ resource: 'event', id, type, entityId: 'pl_sample', createdAt: now.toISOString() }),
};
