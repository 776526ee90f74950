import { PERSON, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['Delivery', 'Open'],
  headers: { authorization: '{token}' },
  body: (id, type, now) => ({
    RecordType: type,
    MessageID: id,
    Recipient: PERSON,
    ...(type === 'Delivery' ? { DeliveredAt: now.toISOString() } : { ReceivedAt: now.toISOString() }),
  }),
};
