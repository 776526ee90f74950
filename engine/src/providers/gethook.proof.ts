import type { Proof } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  assumed: true,
  facts: {
    from: 'an assumption',
    signature: 'hmac-sha256 hex at header:x-gethook-signature',
    ...HMAC_BODY,
    id: 'id',
    isIdSigned: true,
    type: 'type',
    time: 'created_at (iso)',
    limit: null,
    retries: null,
    ends: 'not known',
    same: 'the id',
    open: 'everything: nobody has documented this sender',
  },
  pairs: {
    source: 'assumed',
    body: { id: 'one', type: 'record.updated', created_at: '2026-01-01T00:00:00Z' },
    events: [['one', 'record.updated', '2026-01-01T00:00:00.000Z']],
    apart: { 'two changes of one second': { values: { id: 'two' } } },
  },
  vectors: [
    {
      id: 'gethook/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-gethook-signature': '10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
