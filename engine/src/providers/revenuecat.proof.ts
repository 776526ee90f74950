import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'RevenueCat/docs docs/integrations/webhooks.mdx',
    signature: said(
      'hmac-sha256 hex at header:x-revenuecat-webhook-signature#v1 or token at header:authorization',
      'revenuecat.com/docs/integrations/webhooks, as receivers of others cite it (signature); RevenueCat/docs (token)',
    ),
    covers: said(
      '{header:x-revenuecat-webhook-signature#t}.{body} or nothing',
      'revenuedot/examples, which sends the same',
    ),
    key: 'text or the token',
    window: said('300 s, in s or none', 'receivers of others: each attempt is signed with its own time'),
    id: 'event.id',
    isIdSigned: true,
    type: 'event.type',
    time: said(
      'event.event_timestamp_ms (ms)',
      'RevenueCat/docs code_blocks/integrations/webhooks/sample-events_1.json',
    ),
    limit: 60,
    retries: said(2.6, 'after 5, 10, 20, 40 and 80 minutes'),
    ends: 'exactly 200, or the fifth retry',
    byHand: 'on the page of the integration (`Retry`) and on that of the event',
    same: 'the id of the event',
    limits: [
      'Switch the signature on: the authorization header proves who sent a delivery, and nothing about its content.',
    ],
    open: "we have read RevenueCat's words on the signature in receivers of others only, and a guide of its own names another header (X-RevenueCat-Signature)",
  },
  pairs: {
    source: 'RevenueCat/docs code_blocks/integrations/webhooks/sample-events_1.json',
    body: {
      api_version: '1.0',
      event: { id: '12345678-1234-1234-1234-123456789012', type: 'RENEWAL', event_timestamp_ms: 1658726378679 },
    },
    events: [['12345678-1234-1234-1234-123456789012', 'RENEWAL', '2022-07-25T05:19:38.679Z']],
    apart: {
      'two renewals in one millisecond': { values: { 'event.id': '12345678-1234-1234-1234-123456789013' } },
    },
    same: {
      'a retry, from an integration without a signature': {
        body: { event: { id: '1', type: 'RENEWAL' } },
        events: [['1', 'RENEWAL', null]],
        both: { headers: { 'x-revenuecat-webhook-signature': null, authorization: '{secret}' } },
      },
    },
  },
  vectors: [
    {
      id: 'revenuecat/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'own-secret-0123456789abcdef',
      headers: { authorization: 'own-secret-0123456789abcdef' },
      body: '{"event":{"id":"1"}}',
    },
    {
      id: 'revenuecat/accepted',
      origin: 'accepted-by-others',
      source: 'revenuedot/examples accepts it, and refuses it with another body',
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'x-revenuecat-webhook-signature':
          't=1772366400,v1=7e82295b04763460194c95676d22c4620e260cca2970cd6b31aba668930ef98c',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
