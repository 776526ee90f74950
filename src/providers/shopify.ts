import { defineProvider } from './define.ts';

export const shopify = defineProvider({
  name: 'shopify',
  docs: 'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
  scheme: { signature: 'header:x-shopify-hmac-sha256', encoding: 'base64', key: 'utf8', signed: '{body}' },
  id: {
    // Two subscriptions to what happened at once share the event's id, and are two events to us.
    at: '{header:x-shopify-topic}:{header:x-shopify-event-id}',
    signed: false,
    // They may share the body as well (an order that is created and paid): the body comes once for each topic. Not for each
    // shop: nobody signs the shop's name, and a captured delivery could come back under any.
    replayKey: '{header:x-shopify-topic}:{sha256}',
  },
  type: ['{header:x-shopify-topic}'],
  occurredAt: { at: 'header:x-shopify-triggered-at', unit: 'iso' },
});
