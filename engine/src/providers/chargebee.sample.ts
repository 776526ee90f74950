import { type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['invoice_generated'],
  id: () => `ev_${short()}`,
  body: (id, type, now) => ({
    id,
    occurred_at: seconds(now),
    event_type: type,
    content: { invoice: { id: 'inv_sample', total: 4200 } },
  }),
};
