import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'razorpay', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'razorpay/markdown-docs webhooks/best-practices.md, validate-test.md',
    signature: said(
      'hmac-sha256 hex at header:x-razorpay-signature',
      'razorpay/razorpay-node lib/utils/razorpay-utils.js',
    ),
    ...HMAC_BODY,
    id: 'x-razorpay-event-id',
    isIdSigned: false,
    type: 'event',
    time: said('created_at (s)', 'razorpay/markdown-docs webhooks/payments.md'),
    limit: 5,
    retries: said(24, 'from the creation of the event. They are signed with the secret of that time'),
    ends: 'any 2xx; after 24 hours of failures the webhook is disabled',
    byHand: said(
      'for seven days, five times a day, what got no 2xx; signed with the current secret',
      'razorpay.com/docs/webhooks/replay-events',
    ),
    same: 'x-razorpay-event-id',
    open: 'whether an event that is replayed by hand keeps its id. If not, it is parked as a suspected replay',
  },
  pairs: {
    source: 'razorpay.com/docs/webhooks/payloads/payments',
    body: { event: 'payment.authorized', created_at: 1567674606, payload: { payment: { entity: { id: 'pay_DESl' } } } },
    events: [['msg_one', 'payment.authorized', '2019-09-05T09:10:06.000Z']],
    same: { 'a captured body under another id': { id: 'two', outcome: 'parked' } },
    apart: { 'two payments in one second': { id: 'two', values: { 'payload.payment.entity.id': 'pay_DESm' } } },
  },
  vectors: [
    {
      id: 'razorpay/sdk-test',
      origin: 'official-sdk-test',
      source: 'razorpay/razorpay-node test/utils/razorpay-utils.spec.js',
      secret: '123456',
      headers: { 'x-razorpay-signature': '2fe04e22977002e6c7cb553adab8b460cb9e2a4970d5953cb27a8472752e3bbc' },
      body: '{"a":1,"b":2,"c":{"d":3}}',
    },
  ],
};
