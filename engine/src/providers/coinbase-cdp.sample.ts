import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['payments.transfers.completed'],
  headers: {
    'x-hook0-signature': 't={timestamp},h=content-type x-event-id x-event-type,v1={signature}',
    'x-event-id': '{id}',
    'x-event-type': '{type}',
  },
  body: (id, type, now) => ({
    eventId: id,
    eventType: type,
    timestamp: now.toISOString(),
    data: { transferId: 'transfer_sample', sourceAmount: '42.00', sourceAsset: 'usdc', status: 'completed' },
  }),
};
