import type { Proof } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  assumed: true,
  facts: {
    from: 'an assumption',
    signature: 'hmac-sha256 hex at header:x-awardee-signature',
    ...HMAC_BODY,
    id: 'x-awardee-delivery',
    isIdSigned: false,
    replayKey: 'none',
    type: 'x-awardee-event',
    limit: null,
    retries: 24,
    ends: 'not known',
    same: 'the id in the header',
    open: 'everything: nobody has documented this sender',
  },
  pairs: {
    source: 'assumed',
    body: { nomination: { id: 'nom_1' } },
    events: [['msg_one', 'sample.created', null]],
    apart: { 'two events with the same body': { id: 'two' } },
  },
  vectors: [
    {
      id: 'awardee/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-awardee-signature': '10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
