import { number, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['orders/create', 'orders/paid'],
  headers: {
    'x-shopify-topic': '{type}',
    'x-shopify-webhook-id': '{id}',
    'x-shopify-event-id': 'event-sample',
    'x-shopify-shop-domain': 'sample.myshopify.com',
    'x-shopify-hmac-sha256': '{signature}',
  },
  body: (_id, _type, now) => ({ id: Number(number()), created_at: now.toISOString(), total_price: '42.00' }),
};
