import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['BOOKING_CREATED', 'BOOKING_CANCELLED'],
  id: short,
  body: (id, type, now) => ({
    triggerEvent: type,
    createdAt: now.toISOString(),
    payload: { uid: id, title: 'A sample' },
  }),
};
