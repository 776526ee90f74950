import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'RevenueCat/docs docs/integrations/webhooks.mdx',
    signature: said(
      'token at header:authorization or hmac-sha256 hex at header:x-revenuecat-webhook-signature#v1',
      'RevenueCat/docs (token); several receivers of others, which agree (signature)',
    ),
    covers: 'nothing or {header:x-revenuecat-webhook-signature#t}.{body}',
    key: 'the token or text',
    window: said('none or 300 s, in s', 'receivers of others: each attempt is signed with its own time'),
    id: 'event.id',
    isIdSigned: false,
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
    open: "the signature is known from others' receivers only, and a guide of RevenueCat's names another header (X-RevenueCat-Signature); whether two real events may have one id",
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
      'another body under a known id, which somebody with the token may have sent': {
        values: { 'event.type': 'CANCELLATION' },
        outcome: 'parked',
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
      id: 'revenuecat/own',
      origin: 'own',
      source: "computed once with Python's hmac, from receivers of others",
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
