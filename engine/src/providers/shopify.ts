import { defineProvider } from './define.ts';

export const shopify = defineProvider({
  name: 'shopify',
  docs: 'https://shopify.dev/docs/apps/build/webhooks/verify-deliveries',
  scheme: { signature: 'header:x-shopify-hmac-sha256', encoding: 'base64', key: 'utf8', signed: '{body}' },
  id: {
    // Not x-shopify-event-id: all products of a bulk edit share it. This id is new for each, and the same on retries.
    at: '{header:x-shopify-webhook-id}',
    signed: false,
    // A second subscription to a topic delivers the same body under another id, and is parked. Two topics may have the
    // same body too (an order that is created and paid), so the topic is part of the replay key. The shop's name is not:
    // it isn't signed, so somebody could send a captured delivery again under any name.
    replayKey: '{header:x-shopify-topic}:{sha256}',
  },
  type: ['{header:x-shopify-topic}'],
  occurredAt: { at: 'header:x-shopify-triggered-at', unit: 'iso' },
});
