import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['ContentManagement.Entry.publish'],
  id: short,
  headers: {
    'content-type': 'application/vnd.contentful.management.v1+json',
    'x-contentful-topic': '{type}',
    'x-contentful-idempotency-key': '{id}',
    'x-contentful-timestamp': '{timestamp}',
    'x-contentful-signed-headers': 'x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic',
    'x-contentful-signature': '{signature}',
  },
  body: (id, _type, now) => ({ sys: { id, type: 'Entry', updatedAt: now.toISOString() }, fields: {} }),
};
