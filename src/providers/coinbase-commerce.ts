import { defineProvider } from './define.ts';

export const coinbaseCommerce = defineProvider({
  name: 'coinbase-commerce',
  docs: 'https://docs.cdp.coinbase.com/commerce/docs/webhooks-security',
  scheme: { signature: 'header:x-cc-webhook-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // The outer id is the delivery's, and the attempts are counted beside it.
  id: { at: '{json:event.id}', signed: true },
  type: ['{json:event.type}'],
  occurredAt: { at: 'json:event.created_at', unit: 'iso' },
  retriesForDays: 3,
});
