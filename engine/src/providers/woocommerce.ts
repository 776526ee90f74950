import { defineProvider } from './define.ts';

export const woocommerce = defineProvider({
  name: 'woocommerce',
  docs: 'https://woocommerce.com/document/webhooks/',
  scheme: { signature: 'header:x-wc-webhook-signature', encoding: 'base64', key: 'utf8', signed: '{body}' },
  id: {
    // WooCommerce makes the delivery's id from the webhook and the current second, so two events of one second share
    // it. Their bodies differ. Two events with the same body (deleted, restored, deleted) happen in different seconds.
    at: '{header:x-wc-webhook-delivery-id}:{sha256}',
    signed: false,
    // "Created" and "updated" may have the same body, so the topic is part of the replay key.
    replayKey: '{header:x-wc-webhook-topic}:{sha256}',
    // A custom topic says only which action happened. No resource has a field with this name.
    bodiesRepeat: [[{ at: 'header:x-wc-webhook-topic', like: /^action\./ }, { at: 'json:action' }]],
  },
  type: ['{header:x-wc-webhook-topic}'],
  occurredAt: { at: 'json:date_modified_gmt', unit: 'iso' },
  // When a webhook is created, WooCommerce sends this unsigned ping and drops the webhook unless the answer is 200.
  // WooCommerce never retries a delivery.
  handshakes: [{ method: 'POST', when: [{ at: 'form:webhook_id', like: /^\d{1,20}$/ }], reply: { status: 200 } }],
});
