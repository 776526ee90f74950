import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['issue.created', 'issue.resolved'],
  id: short,
  headers: { 'request-id': '{id}', 'sentry-hook-resource': 'issue', 'sentry-hook-signature': '{signature}' },
  body: (id, type) => ({ action: type.split('.')[1], data: { issue: { id, title: 'A sample' } } }),
};
