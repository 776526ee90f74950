import { defineProvider } from './define.ts';

export const shopify = defineProvider({
  name: 'shopify',
  docs: 'https://shopify.dev/docs/apps/build/webhooks/verify-deliveries',
  scheme: {
    // The second is that of Shopify's Events, its newer kind of subscription: the same scheme under other names.
    signature: ['header:x-shopify-hmac-sha256', 'header:shopify-hmac-sha256'],
    encoding: 'base64',
    key: 'utf8',
    signed: '{body}',
  },
  id: {
    // Not x-shopify-event-id: all products of a bulk edit share it. This id is new for each, and the same on retries.
    at: ['{header:x-shopify-webhook-id}', '{header:shopify-webhook-id}'],
    signed: false,
    // A second subscription to a topic delivers the same body under another id, and is parked. Two topics may have the
    // same body too (an order that is created and paid), so the topic is part of the replay key. The shop's name is not:
    // it isn't signed, so somebody could send a captured delivery again under any name.
    replayKey: '{header:x-shopify-topic}:{sha256}',
    bodiesRepeat: [
      // It names the product alone, so a product that is removed from a channel a second time has the same body.
      [{ at: 'header:x-shopify-topic', is: 'product_listings/remove' }, { at: 'json:product_listing.product_id' }],
      // An Event says which fields have changed, and not when or to what, unless the subscription has a query.
      [{ at: 'json:topic' }, { at: 'json:action' }, { at: 'json:handle' }],
    ],
  },
  // Of Events the body has both, signed.
  type: ['{header:x-shopify-topic}', '{json:topic}.{json:action}'],
  occurredAt: { at: ['header:x-shopify-triggered-at', 'header:shopify-triggered-at'], unit: 'iso' },
  // No limit is documented, and "some message bodies can be upwards of a megabyte" (Shopify's staff).
  maxBytes: 5 * 1024 * 1024,
});
