import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@workos-inc/node', signs: true },
  facts: {
    read: '2026-11-19',
    from: 'workos.com/docs/events/data-syncing/webhooks, as a public repository sums it up',
    signature: said(
      'hmac-sha256 hex at header:workos-signature#v1',
      'workos/workos-node src/common/crypto/signature-provider.ts',
    ),
    covers: said('{header:workos-signature#t}.{body}', 'workos/workos-node src/common/crypto/signature-provider.ts'),
    key: 'text',
    window: said('300 s, in ms', 'workos/workos-node src/common/crypto/signature-provider.ts: 180 s'),
    id: 'id',
    isIdSigned: true,
    type: 'event',
    time: 'created_at (iso)',
    limit: null,
    retries: said(72, 'up to six retries in three days; in staging for a few minutes'),
    ends: 'any 2xx, or the last retry',
    same: 'the id of the event',
    open: 'whether a retry is signed with a new time. If not, the SDK, which allows 3 minutes, would refuse every retry too',
  },
  pairs: {
    source: 'workos.com/docs/events/data-syncing/webhooks (in triggerdotdev/trigger.dev)',
    body: { id: 'event_01J4QF7R2A', event: 'dsync.user.updated', created_at: '2026-07-13T09:20:01.104Z' },
    events: [['event_01J4QF7R2A', 'dsync.user.updated', '2026-07-13T09:20:01.104Z']],
    apart: { 'two updates in one millisecond': { values: { id: 'event_01J4QF7R2B' } } },
  },
  vectors: [
    {
      id: 'workos/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'workos-signature': 't=1772366400000, v1=bd4846988493fca28e45d7f912f249a86a6bb12640696a45df676854b1a9e831',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
