import { type Proof, said } from './proof.ts';
import { pokePairs } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'docs.mollie.com/reference/webhooks',
    signature: said('token at query:token', 'nothing is signed: the token is a part of the URL that you register'),
    covers: 'nothing',
    key: 'the token',
    id: 'every delivery',
    isIdSigned: false,
    replayKey: 'none',
    type: 'changed',
    limit: 15,
    retries: said(26, 'ten attempts: at once, then after 1, 2, 4, 8, 16 and 29 minutes, 1, 2 and 22 hours'),
    ends: '200, or the tenth attempt. A redirect with 301 or 302 loses the body',
    same: 'nothing: a delivery only says which payment has changed, and a handler fetches it',
  },
  pairs: pokePairs('docs.mollie.com/reference/webhooks', { id: 'tr_d0b0E3EA3v' }, ['random', 'changed', null]),
  vectors: [
    {
      id: 'mollie-classic/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'own-secret-0123456789abcdef',
      url: 'https://example.com/webhooks/mollie?token=own-secret-0123456789abcdef',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'id=tr_1',
    },
  ],
};
