import type { Provider } from './types.ts';

export const postmark = {
  name: 'postmark',
  docs: 'https://postmarkapp.com/developer/webhooks/webhooks-overview',
  // Nothing is signed. The user and password stand in the webhook's URL, or in its settings.
  scheme: { token: 'header:authorization', basic: true },
  id: { at: '{json:RecordType}:{json:MessageID}:{json?:ID}:{json?:ReceivedAt}', signed: false },
  type: ['{json:RecordType}'],
  occurredAt: { at: ['json:BouncedAt', 'json:DeliveredAt', 'json:ReceivedAt'], unit: 'iso' },
} as const satisfies Provider;
