import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['page.created', 'page.content_updated'],
  body: (id, type, now) => ({ id, timestamp: now.toISOString(), type, attempt_number: 1, entity: { type: 'page' } }),
};
