import { type Proof, said } from './proof.ts';
import { SVIX_DOCS, standardFacts, standardPairs, svixDelivery } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'standardwebhooks', signs: true },
  facts: {
    read: '2026-11-19',
    from: `${SVIX_DOCS}/receiving/verifying-payloads/how-manual.mdx`,
    ...standardFacts('svix'),
    signature: said(
      'hmac-sha256 base64 at header:svix-signature#v1 or ed25519 base64 at header:svix-signature#v1a',
      'svix/svix-webhooks server/svix-server/src/worker.rs',
    ),
    covers: '{header:svix-id}.{header:svix-timestamp}.{body} or {header:svix-id}.{header:svix-timestamp}.{body}',
    key: 'base64 after whsec_ or base64 after whpk_',
    type: 'type / event_type',
    ...svixDelivery,
    largest: said(350, 'svix/svix-webhooks server/svix-server/src/v1/endpoints/message.rs'),
    byHand: 'in the portal or by API, with the same id, for 90 days unless the sender keeps messages for less',
    same: 'svix-id',
  },
  pairs: {
    ...standardPairs(
      { event_type: 'invoice.paid', data: { id: 'in_1' } },
      ['msg_one', 'invoice.paid', null],
      'docs.svix.com/receiving/introduction',
    ),
    same: {
      'a retry of an event that has its name in the other field': {
        body: { type: 'invoice.paid', event_type: 'another' },
        events: [['msg_one', 'invoice.paid', null]],
      },
    },
  },
  vectors: [
    {
      id: 'svix/docs-example-signatures',
      origin: 'provider-docs',
      source: 'svix/svix-docs content/receiving/verifying-payloads/how-manual.mdx "Example signatures"',
      alsoFor: ['standardwebhooks', 'clerk', 'resend'],
      secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
      headers: {
        'svix-id': 'msg_loFOjxBNrRLzqYUf',
        'svix-timestamp': '1731705121',
        'svix-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
      },
      body: '{"event_type":"ping","data":{"success":true}}',
      nowSeconds: 1731705121,
    },
  ],
};
