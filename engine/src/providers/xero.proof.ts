import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'developer.xero.com/documentation/guides/webhooks/overview, and two public repositories that quote it',
    signature: said('hmac-sha256 base64 at header:x-xero-signature', 'XeroAPI/Xero-OpenAPI xero-webhooks.yaml'),
    ...HMAC_BODY,
    id: said('tenantId + resourceId + eventType + eventDateUtc', 'XeroAPI/Xero-OpenAPI xero-webhooks.yaml'),
    isIdSigned: true,
    type: 'eventCategory + eventType',
    time: 'eventDateUtc (iso)',
    batch: 'events.*',
    answer: '200 empty',
    limit: 5,
    retries: said(744, 'at once, then every 15 minutes for 24 hours; what is missed is kept for 31 days'),
    ends: '2xx without cookies. After 24 hours of failures the webhook is disabled; once it is enabled again, the events of the last 31 days follow in their order',
    same: 'tenant, resource, type and time in milliseconds',
  },
  ack: { status: 200 },
  pairs: {
    source: 'XeroAPI/Xero-OpenAPI xero-webhooks.yaml',
    body: {
      events: [
        {
          resourceId: '717f2bfc',
          eventDateUtc: '2017-06-21T01:15:39.902',
          eventType: 'UPDATE',
          eventCategory: 'CONTACT',
          tenantId: 'c2cc9b6e-9458-4c7d-93cc-f02b81b0594f',
        },
      ],
      lastEventSequence: 1,
      entropy: 'S0m3r4Nd0mt3xt',
    },
    events: [
      [
        'c2cc9b6e-9458-4c7d-93cc-f02b81b0594f:717f2bfc:UPDATE:2017-06-21T01:15:39.902',
        'CONTACT.UPDATE',
        '2017-06-21T01:15:39.902Z',
      ],
    ],
    apart: {
      'two contacts in one millisecond': { values: { 'events.0.resourceId': '717f2bfd' } },
      'one contact, updated twice': { values: { 'events.0.eventDateUtc': '2017-06-21T01:15:39.903' } },
      'one contact, created and updated at once': { values: { 'events.0.eventType': 'CREATE' } },
    },
    same: { 'a retry in a batch with another entropy': { values: { entropy: 'Other', lastEventSequence: 2 } } },
  },
  vectors: [
    {
      id: 'xero/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-xero-signature': 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
