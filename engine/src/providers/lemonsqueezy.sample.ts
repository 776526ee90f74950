import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['order_created'],
  body: (id, type, now) => ({
    meta: { event_name: type, webhook_id: id },
    data: { type: 'orders', id: '1', attributes: { total: 4200, updated_at: now.toISOString() } },
  }),
};
