import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'mollie-api-typescript', signs: true },
  facts: {
    read: '2026-11-19',
    from: 'docs.mollie.com/reference/webhooks-new, and hookdeck/webhook-skills skills/mollie-webhooks, which quotes it',
    signature: said(
      'hmac-sha256 hex at header:x-mollie-signature#sha256',
      'mollie/mollie-api-typescript src/utils/webhooks/signature_validator.ts',
    ),
    ...HMAC_BODY,
    id: said('id', 'mollie/mollie-api-php src/Webhooks/WebhookEventMapper.php'),
    isIdSigned: true,
    type: 'type',
    time: 'createdAt (iso)',
    limit: 15,
    retries: said(26, 'up to ten attempts in about 26 hours'),
    ends: '200, or the tenth attempt; a webhook that keeps failing is blocked',
    same: 'the id of the event',
  },
  pairs: {
    source: 'docs.mollie.com/reference/webhooks-new',
    body: { id: 'event_GvJ8WHrp5isUdRub9CJyH', type: 'payment-link.paid', createdAt: '2024-12-16T15:57:04.0Z' },
    events: [['event_GvJ8WHrp5isUdRub9CJyH', 'payment-link.paid', '2024-12-16T15:57:04.000Z']],
    apart: { 'one link, paid twice in one second': { values: { id: 'event_GvJ8WHrp5isUdRub9CJyJ' } } },
  },
  vectors: [
    {
      id: 'mollie/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-mollie-signature': 'sha256=10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
