import { number, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['order.created', 'order.updated'],
  id: number,
  body: (id, _type, now) => ({
    id: Number(id),
    status: 'processing',
    total: '42.00',
    date_modified_gmt: now.toISOString().slice(0, 19),
  }),
};
