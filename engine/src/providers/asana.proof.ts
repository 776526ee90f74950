import type { Proof } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'developers.asana.com/docs/webhooks-guide.md; Asana/developer-docs source/includes/markdown/_webhooks.html.md',
    signature: 'hmac-sha256 hex at header:x-hook-signature',
    ...HMAC_BODY,
    id: 'content',
    isIdSigned: true,
    type: 'resource.resource_type + action',
    time: 'created_at (iso)',
    batch: 'events.*',
    handshake: 'POST unsigned → 200',
    limit: 10,
    retries: 24,
    ends: '200 or 204. After 24 hours of failures the webhook is deleted',
    byHand: 'never. Asana promises delivery at most once',
    same: 'the content of the event, with its time in milliseconds',
  },
  handshakes: [
    {
      headers: { 'x-hook-secret': 'secret_0123456789abcdef' },
      handsOver: true,
      reply: { status: 200, headers: { 'x-hook-secret': 'secret_0123456789abcdef' } },
      limited: 'secret_0123456789abcdef',
      unlike: [['secret_0123456789abcdef', 'short']],
    },
  ],
  pairs: {
    source: 'developers.asana.com/docs/webhooks-guide',
    body: {
      events: [
        {
          action: 'changed',
          created_at: '2026-07-01T14:00:00.123Z',
          resource: { gid: '1337', resource_type: 'task' },
          change: { field: 'due_on', action: 'changed' },
        },
      ],
    },
    events: [['content', 'task.changed', '2026-07-01T14:00:00.123Z']],
    apart: {
      'two fields of a task, changed in one action': { values: { 'events.0.change.field': 'assignee' } },
      'one field, changed again a millisecond later': { values: { 'events.0.created_at': '2026-07-01T14:00:00.124Z' } },
    },
  },
  vectors: [
    {
      id: 'asana/accepted',
      origin: 'accepted-by-others',
      source:
        'n8n accepts it, and refuses it with another body: n8n-io/n8n@fbd9449c packages/nodes-base/nodes/Asana/AsanaTriggerHelpers.ts',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-hook-signature': '10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
