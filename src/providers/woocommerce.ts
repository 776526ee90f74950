import { defineProvider } from './define.ts';

export const woocommerce = defineProvider({
  name: 'woocommerce',
  docs: 'https://woocommerce.com/document/webhooks/',
  scheme: { signature: 'header:x-wc-webhook-signature', encoding: 'base64', key: 'utf8', signed: '{body}' },
  id: {
    // Its own delivery id is made from the second, and two events in one second share it, as does date_modified_gmt.
    at: '{header:x-wc-webhook-topic}:{json?:id}:{sha256}',
    signed: false,
    // Created and updated may say the same, so the body comes once for each topic.
    once: '{header:x-wc-webhook-topic}:{sha256}',
  },
  type: ['{header:x-wc-webhook-topic}'],
  occurredAt: { at: 'json:date_modified_gmt', unit: 'iso' },
  // Sent unsigned when a webhook is made, which fails unless it hears 200. It never retries.
  handshakes: [{ method: 'POST', when: [{ at: 'form:webhook_id', like: /^\d{1,20}$/ }], reply: { status: 200 } }],
});
