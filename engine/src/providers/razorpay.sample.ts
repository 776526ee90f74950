import { type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['payment.captured'],
  id: short,
  body: (id, type, now) => ({
    entity: 'event',
    event: type,
    created_at: seconds(now),
    payload: { payment: { entity: { id: `pay_${id}`, amount: 4200, currency: 'INR', status: 'captured' } } },
  }),
};
