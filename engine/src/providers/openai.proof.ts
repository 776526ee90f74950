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
    'platform.openai.com/docs/guides/webhooks (in triggerdotdev/trigger.dev)',
  ),
};
