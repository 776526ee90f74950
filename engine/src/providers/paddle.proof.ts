import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@paddle/paddle-node-sdk', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'developer.paddle.com/webhooks/about/respond-to-webhooks',
    signature: said(
      'hmac-sha256 hex at header:paddle-signature#h1',
      'PaddleHQ/paddle-node-sdk src/notifications/helpers/webhooks-validator.ts',
    ),
    covers: said(
      '{header:paddle-signature#ts}:{body}',
      'PaddleHQ/paddle-node-sdk src/notifications/helpers/webhooks-validator.ts',
    ),
    key: 'text',
    window: said('300 s, in s', "Paddle's SDK allows 5 s, which is too little behind a slow network"),
    id: 'event_id',
    isIdSigned: true,
    type: 'event_type',
    time: 'occurred_at (iso)',
    limit: 5,
    retries: said(72, 'live: 60 retries in 3 days, 20 of them in the first hour; sandbox: 3 in 15 minutes'),
    ends: '200, or the last retry',
    byHand: said(
      'for 90 days ("replay"), also what was delivered, with the same event_id',
      'developer.paddle.com/api-reference/notifications/replay-notification',
    ),
    same: 'event_id. notification_id belongs to the destination, and is new if the event is replayed by hand',
    open: 'whether a retry is signed with a new time. If not, the SDK, which allows 5 s, would refuse every retry too',
  },
  pairs: {
    source: 'hookdeck/webhook-samples paddlebilling (in triggerdotdev/trigger.dev)',
    body: {
      event_id: 'evt_01',
      event_type: 'subscription.updated',
      occurred_at: '2024-09-09T16:00:48.444751Z',
      notification_id: 'ntf_1',
    },
    events: [['evt_01', 'subscription.updated', '2024-09-09T16:00:48.444Z']],
    apart: { 'two events of one object in one microsecond': { values: { event_id: 'evt_02' } } },
    same: { 'a second destination, whose notification has an id of its own': { values: { notification_id: 'ntf_2' } } },
  },
  vectors: [
    {
      id: 'paddle/valid',
      origin: 'official-sdk-test',
      source: 'PaddleHQ/paddle-node-sdk src/__tests__/notifications/webhooks-validator.node.test.ts',
      secret: 'VALID_SECRET',
      headers: {
        'paddle-signature': 'ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9',
      },
      body: '{"data": ["1", "2"]}',
      nowSeconds: 1698796800,
    },
  ],
};
