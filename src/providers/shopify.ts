import { defineProvider } from './define.ts';

export const shopify = defineProvider({
  name: 'shopify',
  docs: 'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
  scheme: { signature: 'header:x-shopify-hmac-sha256', encoding: 'base64', key: 'utf8', signed: '{body}' },
  id: {
    // One action can cause events of several topics with the same event id. Here they are different events.
    at: '{header:x-shopify-topic}:{header:x-shopify-event-id}',
    signed: false,
    // They may also have the same body (an order that is created and paid), so the topic is part of the replay key. The
    // shop's name is not: it isn't signed, so somebody could send a captured delivery again under any name.
    replayKey: '{header:x-shopify-topic}:{sha256}',
  },
  type: ['{header:x-shopify-topic}'],
  occurredAt: { at: 'header:x-shopify-triggered-at', unit: 'iso' },
});
