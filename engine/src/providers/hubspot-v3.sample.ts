import { number, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['contact.creation', 'contact.deletion'],
  id: number,
  body: (id, type, now) => [
    {
      eventId: Number(id),
      subscriptionId: 1,
      portalId: 1,
      objectId: 1,
      occurredAt: now.getTime(),
      subscriptionType: type,
      attemptNumber: 0,
    },
  ],
};
