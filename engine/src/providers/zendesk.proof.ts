import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'developer.zendesk.com/documentation/webhooks/verifying',
    signature: 'hmac-sha256 base64 at header:x-zendesk-webhook-signature',
    covers: '{header:x-zendesk-webhook-signature-timestamp}{body}',
    key: said('text', 'webhook-co/webhook apps/docs/providers/zendesk.mdx: the secret as it is'),
    window: said(
      '3600 s, in iso',
      'no tolerance is documented, and no time of the retries; webhook-co/webhook allows 300 s',
    ),
    id: said(
      'zendesk_event_version + id / x-zendesk-webhook-invocation-id',
      'developer.zendesk.com/api-reference/webhooks/event-types (the envelope of an event); the header is used by vercel-labs/emulate and others',
    ),
    isIdSigned: false,
    replayKey: 'x-zendesk-webhook-signature',
    type: 'type',
    time: 'time (iso)',
    limit: said(10, 'alboz.eu/insights/master-webhooks-maximize-stability-performance'),
    retries: said(null, 'support.zendesk.com 4408836101146: up to three, after certain answers'),
    ends: said(
      'any 2xx, or the third retry. A webhook with very many errors in five minutes pauses for a moment',
      'support.zendesk.com 4408836101146, developer.zendesk.com/api-reference/webhooks/introduction',
    ),
    same: 'the id of the event. For what a trigger or an automation sends, X-Zendesk-Webhook-Invocation-Id',
    limits: [
      'Choose POST and JSON for what a trigger or an automation sends. If its body has no `type`, the event has none.',
      'Two equal bodies of a trigger in one second have one signature, so the second is parked.',
    ],
    open: 'which answers Zendesk retries after, when, and whether with a new time; whether a retry has the same invocation id',
  },
  accepts: { seconds: 3600 },
  pairs: {
    source: 'developer.zendesk.com/api-reference/webhooks/event-types, trigger.dev webhook-sources zendesk.ts',
    body: {
      account_id: 22129848,
      id: '2b24ef10-19d9-4740-93cf-8f98ec4776c0',
      subject: 'zen:user:6596848315901',
      time: '2022-06-27T09:31:55.123Z',
      type: 'zen:event-type:user.created',
      zendesk_event_version: '2022-06-20',
    },
    events: [
      ['2022-06-20:2b24ef10-19d9-4740-93cf-8f98ec4776c0', 'zen:event-type:user.created', '2022-06-27T09:31:55.123Z'],
    ],
    apart: {
      'two events of one user': { values: { id: '3b24ef10-19d9-4740-93cf-8f98ec4776c0' } },
      'a trigger that sends the same body again': {
        body: { id: 30482, status: 'open' },
        events: [['one', null, null]],
        both: { headers: { 'x-zendesk-webhook-invocation-id': 'one' } },
        headers: { 'x-zendesk-webhook-invocation-id': 'two' },
      },
    },
    same: {
      'an event that two webhooks on one address subscribe to': {
        body: { id: '2b24ef10', type: 'zen:event-type:user.created', zendesk_event_version: '2022-06-20' },
        events: [['2022-06-20:2b24ef10', 'zen:event-type:user.created', null]],
        both: { headers: { 'x-zendesk-webhook-invocation-id': 'one' } },
        headers: { 'x-zendesk-webhook-invocation-id': 'two' },
      },
      'a captured delivery of a trigger under another invocation': {
        body: { id: 30482, status: 'open' },
        events: [['one', null, null]],
        both: { headers: { 'x-zendesk-webhook-invocation-id': 'one' } },
        captured: true,
        headers: { 'x-zendesk-webhook-invocation-id': 'two' },
        outcome: 'parked',
      },
      'a retry of what a trigger sent, with a new time': {
        body: { id: 30482, status: 'open' },
        events: [['one', null, null]],
        both: { headers: { 'x-zendesk-webhook-invocation-id': 'one' } },
      },
    },
  },
  vectors: [
    {
      id: 'zendesk/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      note: "the secret is Zendesk's documented one for tests",
      secret: 'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==',
      headers: {
        'x-zendesk-webhook-signature': 'cKFpotOLcGeJEHSccZJvAwV0ve8KVOFR5taagzOOHwc=',
        'x-zendesk-webhook-signature-timestamp': '2026-03-01T12:00:00Z',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
