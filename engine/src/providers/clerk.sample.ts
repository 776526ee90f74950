import { type ProviderSample, short, svixHeaders } from './sample.ts';

export const sample: ProviderSample = {
  types: ['user.created', 'user.deleted'],
  id: () => `msg_${short()}`,
  headers: svixHeaders,
  body: (id, type, now) => ({
    object: 'event',
    type,
    timestamp: now.getTime(),
    data: { object: 'user', id: `user_${id.slice(4)}` },
  }),
};
