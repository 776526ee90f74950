import { type Proof, said } from './proof.ts';
import { HMAC_BODY, pokePairs } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'dropbox.com/developers/reference/webhooks',
    signature: 'hmac-sha256 hex at header:x-dropbox-signature',
    ...HMAC_BODY,
    id: 'every delivery',
    isIdSigned: false,
    replayKey: 'none',
    type: 'changed',
    handshake: 'GET unsigned → 200',
    limit: said(10, 'of the verification request'),
    retries: said(0.17, 'with growing delays for about ten minutes'),
    ends: '200',
    same: 'nothing: a notification only says whose files have changed, and a handler lists the changes',
  },
  handshakes: [
    {
      query: 'challenge=Dx-2_a.b~C',
      reply: { status: 200, headers: { 'content-type': 'text/plain' }, text: 'Dx-2_a.b~C' },
      limited: 'Dx-2_a.b~C',
    },
  ],
  pairs: pokePairs(
    'dropbox.com/developers/reference/webhooks',
    {
      list_folder: { accounts: ['dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc'] },
      delta: { users: [12345678] },
    },
    ['random', 'changed', null],
  ),
  vectors: [
    {
      id: 'dropbox/hapi-plugin-test',
      origin: 'third-party-test',
      source: 'npm hapi-dropbox-webhooks@1.1.0 test/index.js',
      secret: 'the_secret',
      headers: { 'x-dropbox-signature': '0a8c16b085420b960dc78664279fe09e936a2a01b1f91064869d9e77dfd64529' },
      body: '{"delta": {"users": [12345]}}',
    },
  ],
};
