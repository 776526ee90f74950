import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['task.added', 'task.changed'],
  id: short,
  body: (id, type, now) => {
    const [resource_type, action] = type.split('.');
    return { events: [{ action, created_at: now.toISOString(), resource: { gid: id, resource_type } }] };
  },
};
