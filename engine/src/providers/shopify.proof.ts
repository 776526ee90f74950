import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@shopify/shopify-api', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'shopify.dev/docs/apps/build/webhooks/verify-deliveries',
    signature: 'hmac-sha256 base64 at header:x-shopify-hmac-sha256',
    ...HMAC_BODY,
    id: said('x-shopify-webhook-id', 'shopify.dev: "Use to identify and deduplicate"; Shopify/shopify-app-js#3129'),
    isIdSigned: false,
    replayKey: 'x-shopify-topic + content',
    type: 'x-shopify-topic',
    time: 'x-shopify-triggered-at (iso)',
    limit: said(5, 'shopify.dev: 1 s to connect, 5 s in all'),
    retries: said(4, 'shopify.dev: eight retries in four hours'),
    ends: 'any 2xx; after eight failures in a row a subscription made by API is removed',
    same: 'X-Shopify-Webhook-Id. X-Shopify-Event-Id is shared by all deliveries that one action of a merchant causes. A second subscription delivers the same body under another id, and is parked',
    limits: [
      'The topic is in a header that is not signed. Somebody who has captured a delivery could send it again under another topic, once for each topic.',
    ],
  },
  pairs: {
    source: 'shopify.dev/docs/apps/build/webhooks/verify-deliveries, hookdeck/webhook-samples shopify',
    type: 'products/update',
    body: { id: 632910392, title: 'Example T-Shirt', updated_at: '2021-12-31T19:00:00-05:00' },
    events: [['msg_one', 'products/update', null]],
    apart: {
      'two products of one bulk edit, which share the event id': { id: 'two', values: { id: 632910393 } },
      'an order that is created and paid, with one body': { id: 'two', type: 'orders/paid' },
    },
    same: {
      'a second subscription to the topic': { id: 'two', outcome: 'parked' },
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
      id: 'shopify/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-shopify-hmac-sha256': 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
