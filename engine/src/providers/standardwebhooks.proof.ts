import { type Proof, said } from './proof.ts';
import { STANDARD_SPEC, standardFacts, standardPairs } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'standardwebhooks', signs: true },
  facts: {
    read: '2026-11-19',
    from: STANDARD_SPEC,
    ...standardFacts('webhook'),
    signature: 'hmac-sha256 base64 at header:webhook-signature#v1 or ed25519 base64 at header:webhook-signature#v1a',
    covers:
      '{header:webhook-id}.{header:webhook-timestamp}.{body} or {header:webhook-id}.{header:webhook-timestamp}.{body}',
    key: 'base64 after whsec_ or base64 after whpk_',
    type: 'type',
    time: 'timestamp (iso)',
    limit: said(15, 'recommended: 15 to 30 s'),
    retries: said(75.6, 'an example: after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h'),
    largest: said(20, 'recommended: less than 20 kB'),
    ends: 'any 2xx, or 410, which disables the endpoint; a redirect is a failure',
    same: 'webhook-id',
  },
  pairs: standardPairs(
    { type: 'contact.updated', timestamp: '2022-11-03T20:26:10.344522Z', data: { id: '1f81eb52' } },
    ['msg_one', 'contact.updated', '2022-11-03T20:26:10.344Z'],
    'standard-webhooks/standard-webhooks spec',
  ),
  vectors: [
    {
      id: 'standardwebhooks/svix-classic-v1',
      origin: 'official-sdk-test + svix-server test ("expected values are fetched from the Svix documentation")',
      source:
        'standard-webhooks/standard-webhooks libraries/javascript/src/webhook.test.ts; svix/svix-webhooks server/svix-server/src/worker.rs',
      alsoFor: ['svix', 'clerk', 'resend', 'gitlab', 'openai'],
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      body: '{"test": 2432232314}',
      nowSeconds: 1614265330,
    },
    {
      id: 'standardwebhooks/v1a-ed25519',
      origin: 'official-server-test',
      source:
        'svix/svix-webhooks server/svix-server/src/worker.rs test_asymmetric_key_signing; key pair in svix-webhooks README',
      note: 'This is the v1a string shown in the Standard Webhooks spec header example; there it sits beside an unrelated msg id/timestamp, so the spec example itself is NOT self-consistent. JS standardwebhooks/svix SDKs do not verify v1a.',
      alsoFor: ['svix'],
      publicKey: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature':
          'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
      },
      body: '{"test": 2432232314}',
      nowSeconds: 1614265330,
    },
  ],
};
