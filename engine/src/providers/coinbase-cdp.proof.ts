import { type Proof, said } from './proof.ts';

const WALLET = { eventType: 'wallet.transaction.created', network: 'base-sepolia', transactionHash: '0x1' };

export const proof: Proof = {
  sdk: { sdk: 'hook0-client', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'docs.cdp.coinbase.com/webhooks/verify-signatures',
    signature: 'hmac-sha256 hex at header:x-hook0-signature#v1',
    covers: 'time, names and values of the headers listed in h, body',
    key: 'text',
    window: '300 s, in s',
    id: said(
      'eventId / x-event-id if signed',
      'docs.cdp.coinbase.com/payments/transfers/webhooks/example-payloads; hook0/hook0 output-worker/src/work.rs',
    ),
    isIdSigned: true,
    type: 'eventType / type',
    time: said('timestamp (iso)', 'docs.cdp.coinbase.com/payments/transfers/webhooks/example-payloads'),
    limit: null,
    retries: said(
      564,
      'up to 60 retries; hook0/hook0 output-worker/src/main.rs: 3 s, 10 s, 3 min, 30 min, 1 h, 3 h, 5 h, then every 10 h and a little',
    ),
    ends: 'any 2xx, or the sixtieth retry',
    same: 'eventId, or the signed X-Event-Id',
    open: 'how long 60 retries take: 24 days with the delays of Hook0, its sender',
    limits: ['The signature covers only the headers that it lists.'],
  },
  pairs: {
    source: 'docs.cdp.coinbase.com/payments/transfers/webhooks/example-payloads',
    body: {
      eventId: '11111111-0000-4000-8000-000000000001',
      eventType: 'payments.transfers.quoted',
      timestamp: '2026-01-31T12:00:00.123Z',
    },
    events: [['11111111-0000-4000-8000-000000000001', 'payments.transfers.quoted', '2026-01-31T12:00:00.123Z']],
    apart: {
      'a transfer that is quoted twice in one second': {
        id: 'two',
        values: { eventId: '11111111-0000-4000-8000-000000000002' },
      },
      'two transactions without an id in the body': {
        body: WALLET,
        events: [['msg_one', 'wallet.transaction.created', null]],
        id: 'two',
      },
    },
    same: {
      'a retry of an event that calls its type otherwise': {
        body: { type: 'onramp.transaction.created', data: {} },
        events: [['msg_one', 'onramp.transaction.created', null]],
      },
      'a retry of an event without an id in the body': {
        body: WALLET,
        events: [['msg_one', 'wallet.transaction.created', null]],
      },
    },
  },
  vectors: [
    {
      id: 'coinbase-cdp/hook0-headers',
      origin: 'official-sdk-test',
      source: 'hook0/hook0@86a9d665 clients/conformance/signature.json (Hook0 sends the webhooks of Coinbase)',
      secret: 'a-subscription-secret',
      headers: {
        'x-event-id': 'evt-1',
        'x-delivery-id': 'dlv-1',
        'content-type': 'application/json',
        'x-hook0-signature':
          't=1800000000,h=x-event-id x-delivery-id,v1=19a6fb8f6581715b241a93af02a58611c3b0ac7b747a8d2a5b120ee418d0c347',
      },
      body: '{"event":"user.created"}',
      nowSeconds: 1800000000,
    },
    {
      id: 'coinbase-cdp/hook0-both',
      origin: 'official-sdk-test',
      source: 'hook0/hook0@86a9d665 clients/conformance/signature.json (Hook0 sends the webhooks of Coinbase)',
      secret: 'a-subscription-secret',
      headers: {
        'x-event-id': 'evt-1',
        'x-delivery-id': 'dlv-1',
        'content-type': 'application/json',
        'x-hook0-signature':
          't=1800000000,h=x-event-id x-delivery-id,v0=bf5f4e5fe0c9143510ae192f983316a09ed392d0104d2ce0faa3d7bce3687acb,v1=19a6fb8f6581715b241a93af02a58611c3b0ac7b747a8d2a5b120ee418d0c347',
      },
      body: '{"event":"user.created"}',
      nowSeconds: 1800000000,
    },
    {
      id: 'coinbase-cdp/hook0-order',
      origin: 'official-sdk-test',
      source: 'hook0/hook0@86a9d665 clients/conformance/signature.json (Hook0 sends the webhooks of Coinbase)',
      secret: 'a-subscription-secret',
      headers: {
        'x-event-id': 'evt-1',
        'x-delivery-id': 'dlv-1',
        'content-type': 'application/json',
        'x-hook0-signature':
          't=1800000000,h=x-delivery-id x-event-id,v1=bf5f4e5fe0c9143510ae192f983316a09ed392d0104d2ce0faa3d7bce3687acb',
      },
      body: '{"event":"user.created"}',
      nowSeconds: 1800000000,
    },
  ],
};
