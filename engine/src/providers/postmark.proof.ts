import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'postmarkapp.com/developer/webhooks/webhooks-overview',
    signature: 'basic at header:authorization',
    covers: 'nothing',
    key: 'the token',
    id: said(
      'x-pm-webhook-trace-id / RecordType? + MessageID + ID? + Recipient? + Email? + DeliveredAt? + BouncedAt? + ReceivedAt? + ChangedAt? + OriginalLink?',
      'postmarkapp.com/developer/webhooks: overview, delivery-webhook, bounce-webhook, subscription-change-webhook',
    ),
    isIdSigned: false,
    type: 'RecordType / inbound',
    time: 'BouncedAt / DeliveredAt / ReceivedAt / ChangedAt (iso)',
    limit: said(null, 'inbound messages: 120 s; other events: not documented'),
    retries: said(
      10.35,
      'inbound: ten retries in 10 h 21 min; other events: nine in 72 minutes (ActiveCampaign/postmark-skills#6)',
    ),
    largest: said(35_840, 'postmarkapp.com/developer/user-guide/inbound: messages of up to 35 MB'),
    whyLower: 'a Worker has 128 MB for all deliveries at once, and holds each body several times',
    ends: 'every 4xx but 408 and 429. For inbound messages: 200 or 403',
    byHand: 'inbound messages: PUT /messages/inbound/{id}/retry',
    same: 'the trace id, if there is one. Otherwise message, recipient and time; MessageID alone is null or not unique',
    open: 'whether the trace id comes with every attempt: one page says "when available"',
    limits: ['If you receive larger attachments, set `maxBytes` higher, as far as memory allows.'],
  },
  accepts: { bytes: 5 * 1024 * 1024 },
  pairs: {
    source: 'postmarkapp.com/developer/webhooks: delivery, click, bounce, subscription change',
    body: { RecordType: 'SubscriptionChange', MessageID: null, ChangedAt: '2020-02-01T10:53:34Z', Recipient: 'a' },
    events: [['content', 'SubscriptionChange', '2020-02-01T10:53:34.000Z']],
    apart: {
      'one address, reactivated twice: MessageID is null': { values: { ChangedAt: '2020-02-01T10:53:35Z' } },
      'two addresses, reactivated at once': { values: { Recipient: 'b' } },
      'two links of one message, clicked in one second': {
        body: { RecordType: 'Click', MessageID: 'm', Recipient: 'a', ReceivedAt: '2017', OriginalLink: 'https://a' },
        events: [['Click:m::a:2017:https://a', 'Click', null]],
        values: { OriginalLink: 'https://b' },
      },
      'one message, delivered to two recipients in one second': {
        body: { RecordType: 'Delivery', MessageID: 'm', Recipient: 'a', DeliveredAt: '2014-08-01T13:28:10Z' },
        events: [['Delivery:m::a:2014-08-01T13:28:10Z:', 'Delivery', '2014-08-01T13:28:10.000Z']],
        values: { Recipient: 'b' },
      },
      'one message that bounced at two addresses': {
        body: { RecordType: 'Bounce', MessageID: 'm', Email: 'a', BouncedAt: '2019-11-05T16:33:54Z' },
        events: [['Bounce:m::a:2019-11-05T16:33:54Z:', 'Bounce', '2019-11-05T16:33:54.000Z']],
        values: { Email: 'b' },
      },
    },
    same: {
      'a retry of an inbound message, with all that a delivery may have': {
        body: {
          MessageID: 'm',
          ID: 4,
          Recipient: 'a',
          Email: 'b',
          DeliveredAt: '1',
          BouncedAt: '2',
          ReceivedAt: '3',
          ChangedAt: '4',
        },
        events: [[':m:4:ab:1234:', 'inbound', null]],
      },
      'a retry of an opened message': {
        body: { RecordType: 'Open', MessageID: 'm', ReceivedAt: '2014-08-01T13:28:10Z' },
        events: [['Open:m:::2014-08-01T13:28:10Z:', 'Open', '2014-08-01T13:28:10.000Z']],
      },
      'a retry with the same trace id': {
        body: { RecordType: 'Open', MessageID: 'm', ReceivedAt: '1' },
        events: [['trace', 'Open', null]],
        both: { headers: { 'x-pm-webhook-trace-id': 'trace' } },
      },
      'a retry that has a trace id, unlike the first attempt': {
        headers: { 'x-pm-webhook-trace-id': 'trace' },
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'postmark/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'hook:päss',
      headers: { authorization: 'Basic aG9vazpww6Rzcw==' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
