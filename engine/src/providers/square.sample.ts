import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['payment.created'],
  body: (id, type, now) => ({
    merchant_id: 'merchant_sample',
    type,
    event_id: id,
    created_at: now.toISOString(),
    data: { type: 'payment', id: 'payment_sample', object: { payment: { amount_money: { amount: 4200 } } } },
  }),
};
