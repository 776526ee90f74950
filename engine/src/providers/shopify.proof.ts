import { type Pair, type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

/** What tells that a body is of Shopify's Events. */
const EVENT = { topic: 'Product', action: 'update', handle: 'prices' };

const EVENTS_HEADERS = {
  'x-shopify-topic': null,
  'x-shopify-webhook-id': null,
  'shopify-webhook-id': 'msg_one',
  'shopify-triggered-at': '2026-01-31T12:00:00.123456789Z',
};

export const proof: Proof = {
  sdk: { sdk: '@shopify/shopify-api', signs: false },
  facts: {
    read: '2026-11-20',
    from: 'shopify.dev/docs/apps/build/webhooks/verify-deliveries, shopify.dev/docs/apps/build/events (verify-deliveries, delivery-structure)',
    signature: said(
      'hmac-sha256 base64 at header:x-shopify-hmac-sha256 … header:shopify-hmac-sha256',
      'Shopify/shopify-app-js packages/apps/shopify-api/lib/types.ts, lib/webhooks/validate.ts',
    ),
    ...HMAC_BODY,
    id: said(
      'x-shopify-webhook-id / shopify-webhook-id',
      'shopify.dev: "Use to identify and deduplicate"; Shopify/shopify-app-js#3129',
    ),
    isIdSigned: false,
    replayKey: said(
      'x-shopify-topic + content, unless x-shopify-topic is product_listings/remove and product_listing.product_id, or topic and action and handle',
      'docs.apiease.com mapping-webhook-parameters (the payload of product_listings/remove); shopify.dev/docs/apps/build/events/delivery-structure, changelog of 2026-09-16: what a body has by default',
    ),
    type: 'x-shopify-topic / topic + action',
    time: 'x-shopify-triggered-at / shopify-triggered-at (iso)',
    limit: said(5, 'shopify.dev: 1 s to connect, 5 s in all'),
    largest: said(
      null,
      'community.shopify.com 144434 (staff): "can be upwards of a megabyte"; changelog of 2026-11-17: EventBridge alone has a limit, of 1 MB',
    ),
    retries: said(4, 'shopify.dev: eight retries in four hours'),
    ends: 'any 2xx; after eight failures in a row a subscription made by API is removed',
    same: 'X-Shopify-Webhook-Id. X-Shopify-Event-Id is shared by all deliveries that one action of a merchant causes. A second subscription delivers the same body under another id, and is parked',
    open: 'the largest body that Shopify sends by HTTPS. Events are a developer preview; whether they are retried in the same way',
    limits: [
      'A subscription whose `include_fields` has no time, such as `["id"]`, sends one body for every update: the second is parked. Add `updated_at` to the fields, or set `bodiesRepeat: true` on the source.',
      'Equal bodies of `product_listings/remove` and of Events are real events, so a replay of one is not noticed.',
      'The topic is in a header that is not signed. Somebody who has captured a delivery could send it again under another topic, once for each topic.',
    ],
  },
  accepts: { bytes: 5 * 1024 * 1024 },
  pairs: {
    source:
      'shopify.dev/docs/apps/build/webhooks/verify-deliveries, shopify.dev/docs/apps/build/events/delivery-structure, hookdeck/webhook-samples shopify',
    type: 'products/update',
    body: { id: 632910392, title: 'Example T-Shirt', updated_at: '2021-12-31T19:00:00-05:00' },
    events: [['msg_one', 'products/update', null]],
    apart: {
      'two products of one bulk edit, which share the event id': { id: 'two', values: { id: 632910393 } },
      'an order that is created and paid, with one body': { id: 'two', type: 'orders/paid' },
      'a product that is removed from a channel, added and removed again': {
        body: { product_listing: { product_id: 788032119674292 } },
        events: [['msg_one', 'product_listings/remove', null]],
        both: { type: 'product_listings/remove' },
        id: 'two',
      },
      'two updates of one product, as Events': {
        body: EVENT,
        events: [['msg_one', 'Product.update', '2026-01-31T12:00:00.123Z']],
        both: { headers: EVENTS_HEADERS },
        headers: { 'shopify-webhook-id': 'two' },
      },
    },
    same: {
      'a second subscription to the topic': { id: 'two', outcome: 'parked' },
      'a captured body of a listing, sent as one that is updated': {
        body: { product_listing: { product_id: 788032119674292 } },
        events: [['msg_one', 'product_listings/update', null]],
        both: { type: 'product_listings/update' },
        id: 'two',
        outcome: 'parked',
      },
      'a captured body of an order, sent as a listing that is removed': {
        body: { id: 820982911946 },
        events: [['msg_one', 'product_listings/remove', null]],
        both: { type: 'product_listings/remove' },
        id: 'two',
        outcome: 'parked',
      },
      ...Object.fromEntries(
        Object.keys(EVENT).map((field): [string, Pair] => [
          `a captured body that is like an Event, but has no ${field}`,
          {
            body: { ...EVENT, [field]: undefined },
            events: [['msg_one', 'products/update', null]],
            both: { type: 'products/update' },
            id: 'two',
            outcome: 'parked',
          },
        ]),
      ),
      'a captured body under another id, without its topic': {
        body: { id: 632910392, updated_at: '2021-12-31T19:00:00-05:00' },
        events: [['msg_one', null, '2022-01-01T00:00:01.123Z']],
        both: { headers: { 'x-shopify-topic': null, 'x-shopify-triggered-at': '2022-01-01T00:00:01.123456789Z' } },
        id: 'two',
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'shopify/own-events',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'shopify-hmac-sha256': 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
    {
      id: 'shopify/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-shopify-hmac-sha256': 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
