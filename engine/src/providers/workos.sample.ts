import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['dsync.user.created'],
  id: () => `event_${short()}`,
  body: (id, type, now) => ({
    id,
    event: type,
    created_at: now.toISOString(),
    data: { id: 'directory_user_sample' },
  }),
};
