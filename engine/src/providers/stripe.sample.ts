import { PERSON, type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['invoice.paid'],
  id: () => `evt_${short()}`,
  body: (id, type, now) => ({
    id,
    object: 'event',
    type,
    created: seconds(now),
    data: {
      object: {
        id: `in_${id.slice(4)}`,
        object: 'invoice',
        customer: 'cus_sample',
        customer_email: PERSON,
        amount_paid: 4200,
        currency: 'eur',
      },
    },
  }),
};
