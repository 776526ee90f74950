import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['Issue.create', 'Issue.update'],
  body: (id, type, now) => {
    const [kind, action] = type.split('.');
    const data = { id, title: 'A sample' };
    return { type: kind, action, createdAt: now.toISOString(), data, webhookTimestamp: now.getTime() };
  },
};
