import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

const ACCEPTED = {
  id: 'docusign/accepted',
  origin: 'accepted-by-others',
  source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
  secret: 'own-secret-0123456789abcdef',
  headers: { 'x-docusign-signature-2': 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
  body: '{"id":"evt_1","text":"café ☃"}',
};

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'developers.docusign.com/platform/webhooks/connect; webhook-co/webhook apps/docs/providers/docusign.mdx',
    signature: 'hmac-sha256 base64 at header:x-docusign-signature-1 … header:x-docusign-signature-5',
    ...HMAC_BODY,
    id: 'event + data.envelopeId + data.recipientId? + generatedDateTime',
    isIdSigned: true,
    type: 'event',
    time: 'generatedDateTime (iso)',
    limit: said(100, 'what several public integrations say; not found on a page of DocuSign'),
    retries: said(
      360,
      'hookdeck/webhook-skills docusign-webhooks: after 5 minutes and ever longer, for 15 days; docusign_esign requires_acknowledgement: ten times, a day apart',
    ),
    ends: 'any 2xx, or the fifteenth day. A configuration that fails for 14 days may be switched off',
    byHand: 'in the settings of Connect and by API (retry_queue)',
    same: 'event, envelope, recipient and the time at which the message was made. retryCount, which is in the body, differs',
    open: 'how long DocuSign retries: sources say 7, 10 and 15 days; whether a retry, or a resend by hand, keeps generatedDateTime. Up to 100 keys are possible, of which five are read',
    limits: ['If you let it include documents, set `maxBytes` higher, as far as memory allows.'],
  },
  pairs: {
    source: 'developers.docusign.com/platform/webhooks/connect (in triggerdotdev/trigger.dev)',
    body: {
      event: 'recipient-sent',
      retryCount: 0,
      generatedDateTime: '2026-06-28T15:02:11.4471203Z',
      data: { envelopeId: '3f9a2c1e-6b4d-4e2f-8a1c-9d3b5f7e2a6c', recipientId: '1' },
    },
    events: [
      [
        'recipient-sent:3f9a2c1e-6b4d-4e2f-8a1c-9d3b5f7e2a6c:1:2026-06-28T15:02:11.4471203Z',
        'recipient-sent',
        '2026-06-28T15:02:11.447Z',
      ],
    ],
    apart: {
      'two recipients in one moment': { values: { 'data.recipientId': '2' } },
      'one recipient, notified again': { values: { generatedDateTime: '2026-06-28T15:02:11.4471204Z' } },
    },
    same: {
      'a retry of an event of the whole envelope': {
        body: {
          event: 'envelope-completed',
          generatedDateTime: '2026-06-28T15:02:11.4471203Z',
          data: { envelopeId: '3f9a2c1e' },
        },
        events: [
          [
            'envelope-completed:3f9a2c1e::2026-06-28T15:02:11.4471203Z',
            'envelope-completed',
            '2026-06-28T15:02:11.447Z',
          ],
        ],
      },
      'a retry, which counts': { values: { retryCount: 1 } },
    },
  },
  vectors: [
    // A header for each configured key.
    ...[1, 3, 4, 5].map((n) => ({
      ...ACCEPTED,
      id: `docusign/accepted, as signature ${n}`,
      headers: { [`x-docusign-signature-${n}`]: 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
    })),
    ACCEPTED,
  ],
};
