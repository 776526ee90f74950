import { type Proof, said } from './proof.ts';
import { standardFacts, standardPairs } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'openai', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'platform.openai.com/docs/guides/webhooks',
    ...standardFacts('webhook'),
    signature: said(
      'hmac-sha256 base64 at header:webhook-signature#v1 or hmac-sha256 base64 at header:webhook-signature#v1',
      'openai/openai-node src/lib/webhook-signature.ts',
    ),
    covers: said(
      '{header:webhook-id}.{header:webhook-timestamp}.{body} or {header:webhook-id}.{header:webhook-timestamp}.{body}',
      'openai/openai-node src/lib/webhook-signature.ts',
    ),
    key: said('base64 after whsec_ or text', 'openai/openai-node src/lib/webhook-signature.ts'),
    type: 'type',
    time: said('created_at (s)', 'openai/openai-node src/resources/webhooks/webhooks.ts'),
    limit: said(null, '"a few seconds"'),
    retries: 72,
    ends: 'any 2xx; a redirect is a failure',
    same: 'webhook-id. The id in the body (evt_…) is another one',
  },
  pairs: standardPairs(
    { id: 'evt_685343a1', created_at: 1784065200, type: 'batch.completed', data: { id: 'batch_67d1e3d6' } },
    ['msg_one', 'batch.completed', '2026-07-14T21:40:00.000Z'],
    'platform.openai.com/docs/guides/webhooks (in triggerdotdev/trigger.dev)',
  ),
  vectors: [
    {
      id: 'openai/plain-secret',
      origin: 'own',
      source: 'computed with hmac of Python: a secret without whsec_ is used as text',
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'webhook-id': 'msg_1',
        'webhook-timestamp': '1772366400',
        'webhook-signature': 'v1,AWRvyBWdxEL78uX1kugRb3lzOywPf7XWAR5obdHyq3s=',
      },
      body: '{"id":"evt_1","type":"response.completed"}',
      nowSeconds: 1772366400,
    },
  ],
};
