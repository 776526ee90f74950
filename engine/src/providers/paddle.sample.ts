import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['transaction.completed'],
  id: () => `evt_${short()}`,
  headers: { 'paddle-signature': 'ts={timestamp};h1={signature}' },
  body: (id, type, now) => ({
    event_id: id,
    event_type: type,
    occurred_at: now.toISOString(),
    notification_id: 'ntf_sample',
    data: { id: `txn_${id.slice(4)}`, status: 'completed', currency_code: 'EUR' },
  }),
};
