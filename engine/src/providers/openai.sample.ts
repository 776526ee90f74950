import { type ProviderSample, seconds, short, standardHeaders } from './sample.ts';

export const sample: ProviderSample = {
  types: ['response.completed'],
  id: () => `wh_${short()}`,
  headers: standardHeaders,
  body: (id, type, now) => ({
    object: 'event',
    id: `evt_${id.slice(3)}`,
    type,
    created_at: seconds(now),
    data: { id: 'resp_sample' },
  }),
};
