import { defineProvider } from './define.ts';

export const coinbaseCommerce = defineProvider({
  name: 'coinbase-commerce',
  docs: 'https://docs.cdp.coinbase.com/commerce/docs/webhooks-security',
  scheme: { signature: 'header:x-cc-webhook-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // The outer id belongs to the delivery, and the attempts are counted next to it. The event's own id stays the same.
  id: { at: '{json:event.id}', signed: true },
  type: ['{json:event.type}'],
  occurredAt: { at: 'json:event.created_at', unit: 'iso' },
  retriesForDays: 3,
});
