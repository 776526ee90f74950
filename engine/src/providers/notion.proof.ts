import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@notionhq/client', signs: true },
  facts: {
    read: '2026-11-19',
    notFound: ['ends'],
    from: 'developers.notion.com/reference/webhooks-events-delivery',
    signature: said('hmac-sha256 hex at header:x-notion-signature#sha256', 'makenotion/notion-sdk-js src/webhooks.ts'),
    ...HMAC_BODY,
    id: said('id', 'makenotion/notion-sdk-js src/api-endpoints/webhooks.ts'),
    isIdSigned: true,
    type: 'type',
    time: 'timestamp (iso)',
    handshake: said(
      'POST unsigned → 200',
      'developers.notion.com/reference/webhooks, as hookdeck/webhook-skills skills/notion-webhooks sums it up',
    ),
    limit: null,
    retries: said(24, 'up to eight retries, the last one about 24 hours after the event'),
    ends: 'any 2xx, or the last retry',
    same: 'the id of the event. attempt_number, which is in the body, differs. Several changes of a page within a minute are one event',
  },
  handshakes: [
    {
      body: '{"verification_token":"secret_0123456789abcdef"}',
      handsOver: true,
      reply: { status: 200 },
      limited: 'secret_0123456789abcdef',
      unlike: [['secret_0123456789abcdef', 'short']],
    },
  ],
  pairs: {
    source: 'developers.notion.com/reference/webhooks (in triggerdotdev/trigger.dev)',
    body: { id: '6b6f6b8a', type: 'page.content_updated', timestamp: '2024-12-05T23:57:05.379Z', attempt_number: 1 },
    events: [['6b6f6b8a', 'page.content_updated', '2024-12-05T23:57:05.379Z']],
    apart: { 'one page, updated twice in one second': { values: { id: '6b6f6b8b' } } },
    same: { 'a retry, which counts its attempts': { values: { attempt_number: 2 } } },
  },
  vectors: [
    {
      id: 'notion/page-created',
      origin: 'generated-with-official-sdk',
      source: '@notionhq/client@5.26.0',
      secret: 'secret_abc123_verification_token',
      headers: { 'x-notion-signature': 'sha256=453a12cb3fb8f2f17ac1fbbc71d79a6dace93a7260f0643140cdff354a514b25' },
      body: '{"id":"367cba44-b6f3-4c92-81e7-6a2e9659efd4","timestamp":"2024-12-05T23:55:34.285Z","type":"page.created","attempt_number":1}',
    },
  ],
};
