import { type ProviderSample, standardHeaders } from './sample.ts';

export const sample: ProviderSample = {
  types: ['push', 'issue'],
  headers: {
    ...standardHeaders,
    'idempotency-key': '{id}',
    'x-gitlab-event': 'Push Hook',
  },
  body: (id, type) => ({ object_kind: type, ref: 'refs/heads/main', after: id, project: { id: 1 } }),
};
