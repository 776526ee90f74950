import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'stripe', signs: true },
  facts: {
    read: '2026-11-19',
    from: 'docs.stripe.com/webhooks',
    signature: said('hmac-sha256 hex at header:stripe-signature#v1', 'stripe/stripe-node src/Webhooks.ts'),
    covers: said('{header:stripe-signature#t}.{body}', 'stripe/stripe-node src/Webhooks.ts'),
    key: said('text', 'stripe/stripe-node src/Webhooks.ts: the whole secret, with whsec_'),
    window: said('300 s, in s', 'stripe/stripe-node src/Webhooks.ts; every attempt is signed with a new time'),
    id: said('id', 'stripe/stripe-node src/resources/Events.ts'),
    isIdSigned: true,
    type: 'type',
    time: said(
      'created (s) / created (iso)',
      'stripe/stripe-node src/resources/Events.ts, src/resources/V2/Core/Events.ts',
    ),
    limit: null,
    retries: said(72, 'live: three days; sandbox: three times in a few hours'),
    ends: 'any 2xx; a redirect is a failure',
    byHand: 'in the dashboard for 15 days, with the CLI for 30 days, with the same id',
    same: 'the id of the event. Stripe may make two events of one change: tell them apart by object and type in a handler',
  },
  pairs: {
    source: 'docs.stripe.com/api/events/object, stripe-node V2/Core/Events.ts',
    body: { id: 'evt_1NG8Du', created: 1686089970, pending_webhooks: 2, type: 'customer.subscription.updated' },
    events: [['evt_1NG8Du', 'customer.subscription.updated', '2023-06-06T22:19:30.000Z']],
    apart: {
      'two updates of one subscription in one second': { values: { id: 'evt_1NG8Dv' } },
      'two events of API v2 in one millisecond': {
        body: { id: 'evt_test_65', type: 'v1.billing.meter.error', created: '2024-09-17T06:20:52.246Z' },
        events: [['evt_test_65', 'v1.billing.meter.error', '2024-09-17T06:20:52.246Z']],
        values: { id: 'evt_test_66' },
      },
    },
    same: { 'a retry: fewer endpoints are waiting': { values: { pending_webhooks: 1 } } },
  },
  vectors: [
    {
      id: 'stripe/v1',
      origin: 'generated-with-official-sdk',
      source: 'stripe@23.1.0',
      secret: 'whsec_test_secret',
      headers: {
        'stripe-signature': 't=1614265330,v1=c6dc71529c3508e11a10bda459b01ad80d95810969314599a42565f012ef5fe8',
      },
      body: '{"id":"evt_test_1","object":"event","type":"invoice.paid","created":1614265330,"data":{"object":{"id":"in_1"}}}',
      nowSeconds: 1614265330,
    },
  ],
};
