import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'typeform.com/developers/webhooks, as a public repository sums it up',
    signature: said(
      'hmac-sha256 base64 at header:typeform-signature#sha256',
      'typeform.com/developers/webhooks/secure-your-webhooks',
    ),
    ...HMAC_BODY,
    id: said('event_id', 'typeform.com/developers/webhooks/example-payload'),
    isIdSigned: true,
    type: 'event_type',
    time: 'form_response.submitted_at (iso)',
    limit: 30,
    retries: said(
      10.6,
      'after 408, 423, 429 and 503 every two or three minutes for ten hours; otherwise after 5, 10, 20 min, 1, 2, 3 and 4 h',
    ),
    ends: 'any 2xx. 404 and 410 disable the webhook at once, and so do 100 failures in 5 minutes, or 300 in 24 hours, without a success',
    same: 'event_id',
    open: 'whether a retry keeps its event_id: nothing says so',
  },
  pairs: {
    source: 'typeform.com/developers/webhooks/example-payload (in triggerdotdev/trigger.dev)',
    body: {
      event_id: '01HXQ3ZK9BCONTACT01',
      event_type: 'form_response',
      form_response: { submitted_at: '2026-07-08T14:04:47Z' },
    },
    events: [['01HXQ3ZK9BCONTACT01', 'form_response', '2026-07-08T14:04:47.000Z']],
    apart: { 'two equal answers in one second': { values: { event_id: '01HXQ3ZK9BCONTACT02' } } },
  },
  vectors: [
    {
      id: 'typeform/accepted',
      origin: 'accepted-by-others',
      source:
        'n8n accepts it, and refuses it with another body: n8n-io/n8n@fbd9449c packages/nodes-base/nodes/Typeform/TypeformTriggerHelpers.ts',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'typeform-signature': 'sha256=EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
