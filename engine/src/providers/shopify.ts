import { defineProvider } from './define.ts';

export const shopify = defineProvider({
  name: 'shopify',
  docs: 'https://shopify.dev/docs/apps/build/webhooks/verify-deliveries',
  scheme: {
    // The second header belongs to Shopify's Events, its newer kind of subscription. It uses the same scheme with other
    // header names.
    signature: ['header:x-shopify-hmac-sha256', 'header:shopify-hmac-sha256'],
    encoding: 'base64',
    key: 'utf8',
    signed: '{body}',
  },
  id: {
    // All products of a bulk edit share x-shopify-event-id. This id is different for each and stays the same on
    // retries.
    at: ['{header:x-shopify-webhook-id}', '{header:shopify-webhook-id}'],
    signed: false,
    // A second subscription to a topic delivers the same body under another id, so its events are parked. Two topics
    // may also have the same body (an order that is created and paid), so the topic is part of the replay key. The
    // shop's name isn't signed and so isn't part of it: otherwise somebody could resend a captured delivery under any
    // name.
    replayKey: '{header:x-shopify-topic}:{sha256}',
    bodiesRepeat: [
      // The body names only the product, so removing a product from a channel a second time sends the same body.
      [{ at: 'header:x-shopify-topic', is: 'product_listings/remove' }, { at: 'json:product_listing.product_id' }],
      // Unless the subscription has a query, an Event says which fields have changed, but not when or to what.
      [{ at: 'json:topic' }, { at: 'json:action' }, { at: 'json:handle' }],
    ],
  },
  // The body of an Event contains topic and action, both signed.
  type: ['{header:x-shopify-topic}', '{json:topic}.{json:action}'],
  occurredAt: { at: ['header:x-shopify-triggered-at', 'header:shopify-triggered-at'], unit: 'iso' },
  // No limit is documented, but "some message bodies can be upwards of a megabyte" (Shopify's staff).
  maxBytes: 5 * 1024 * 1024,
});
