import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'calcom/cal.com packages/features/webhooks/lib: sendPayload.ts, service/WebhookService.ts',
    signature: said(
      'hmac-sha256 hex at header:x-cal-signature-256',
      'calcom/cal.com packages/features/webhooks/lib/sendPayload.ts',
    ),
    ...HMAC_BODY,
    id: 'triggerEvent + payload.uid + createdAt',
    isIdSigned: true,
    type: 'triggerEvent',
    time: 'createdAt (iso)',
    limit: said(null, 'sendPayload.ts has none'),
    retries: said(0, 'calcom/cal.com packages/features/tasker: three attempts if the request itself fails'),
    ends: 'every answer. Only a connection that fails is tried again, twice and with the same body',
    same: 'trigger, booking and the time of sending. Two webhooks on one address send two events',
  },
  pairs: {
    source: 'cal.com/docs/developing/guides/automation/webhooks (in triggerdotdev/trigger.dev)',
    body: { triggerEvent: 'BOOKING_RESCHEDULED', createdAt: '2026-07-01T14:05:00.000Z', payload: { uid: '8f2b6c1a' } },
    events: [
      ['BOOKING_RESCHEDULED:8f2b6c1a:2026-07-01T14:05:00.000Z', 'BOOKING_RESCHEDULED', '2026-07-01T14:05:00.000Z'],
    ],
    apart: {
      'one booking, moved twice': { values: { createdAt: '2026-07-01T14:05:00.001Z' } },
      'two forms, which have no uid, in one millisecond': {
        body: { triggerEvent: 'FORM_SUBMITTED', createdAt: '2026-07-01T14:05:00.000Z', payload: { name: 'Ada' } },
        events: [['content', 'FORM_SUBMITTED', '2026-07-01T14:05:00.000Z']],
        values: { 'payload.name': 'Grace' },
      },
    },
    same: {
      'what has no id and no time': {
        body: { triggerEvent: 'MEETING_ENDED', title: 'A meeting' },
        events: [['content', 'MEETING_ENDED', null]],
      },
    },
  },
  vectors: [
    {
      id: 'calcom/accepted',
      origin: 'accepted-by-others',
      source:
        'n8n accepts it, and refuses it with another body: n8n-io/n8n@fbd9449c packages/nodes-base/nodes/Cal/CalTriggerHelpers.ts',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-cal-signature-256': '10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
