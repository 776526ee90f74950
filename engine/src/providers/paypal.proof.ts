import { type Proof, said } from './proof.ts';

const sale = {
  id: 'WH-2WR32451HC0233532-67976317FL4543714',
  create_time: '2014-10-23T17:23:52Z',
  resource_type: 'sale',
  event_type: 'PAYMENT.SALE.COMPLETED',
  resource: { id: '80021663DE681814L', amount: { total: '0.48', currency: 'USD' } },
};

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'developer.paypal.com/api/rest/webhooks/rest, paypal/PayPal-node-SDK lib/resources/WebhookEvent.js',
    signature: said(
      'rsa-sha256 base64 at header:paypal-transmission-sig',
      'paypal/PayPal-node-SDK test/notification.js; headers of genuine deliveries in public tests',
    ),
    covers: said(
      '{header:paypal-transmission-id}|{header:paypal-transmission-time}|{webhookId}|{crc32}; paypal-auth-algo = SHA256withRSA',
      'paypal/PayPal-node-SDK lib/resources/WebhookEvent.js; docs.paypal.ai/reference/api/rest/verify-webhook-signature',
    ),
    key: said(
      'certificate of header:paypal-cert-url, from https://{host}/v1/notifications/certs/*',
      'paypal/PayPal-node-SDK test/notification.js; genuine deliveries of both hosts in public tests',
    ),
    window: said(
      '345600 s, in iso',
      '"The date and time of the HTTP transmission"; three days of retries, and one more',
    ),
    id: 'id',
    isIdSigned: true,
    replayKey: 'paypal-transmission-sig',
    type: 'event_type',
    time: 'create_time (iso)',
    limit: null,
    retries: said(72, 'hookdeck.com/webhooks/platforms/guide-to-paypal-webhooks-features-and-best-practices: 25 times'),
    ends: 'any 2xx, or three days',
    byHand: said(
      'POST /v1/notifications/webhooks-events/:id/resend, with the same id',
      'paypal.ai/docs/webhooks/webhooks-events-resend',
    ),
    same: 'the id of the event',
    limits: [
      'The secret is two words: the id of the webhook (not that of an event), and `api.paypal.com` or `api.sandbox.paypal.com`.',
      'The body is signed by its CRC-32 alone. Somebody who has captured a delivery can make another body with the same one, but not with another signature: under the same id it is a duplicate, and under another one it is parked.',
      'The simulator of PayPal’s dashboard signs for the webhook id `WEBHOOK_ID`, so its deliveries are refused.',
    ],
    open: 'whether a retry has a transmission id and a time of its own (otherwise one after the window is refused); whether other hosts than these two serve certificates',
  },
  accepts: { seconds: 345_600 },
  pairs: {
    source: 'developer.paypal.com/api/rest/webhooks/rest; a sample of PayPal’s in public tests',
    body: sale,
    events: [['WH-2WR32451HC0233532-67976317FL4543714', 'PAYMENT.SALE.COMPLETED', '2014-10-23T17:23:52.000Z']],
    apart: { 'two events of one sale': { values: { id: 'WH-2WR32451HC0233532-67976317FL4543715' } } },
    same: {
      'the same event in another transmission': { id: 'msg_two' },
      'a captured delivery with another body of the same CRC-32': {
        values: { id: 'WH-FORGED', x: 'LNJFFGHAIA' },
        captured: true,
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'paypal/sdk-node',
      origin: 'official-sdk-test',
      source: 'paypal/PayPal-node-SDK test/notification.js and test/mocks/notification.js',
      note: 'a genuine delivery of 2015; the key is that of its certificate',
      secret:
        '4JH86294D6297924G api.sandbox.paypal.com key:MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAyF4MCY9RPrzzizQO3t5xbEaUKuxtQhXKAjXkYBSBkX3eIrbdowUT3x139Xnlzg0OlcEzD+q1WKyNxwULuUmUWSjt4ACz4gVk3M+RYVaL2A8/3fw7WrAOS+5dcZkTPhhjxHvw9xEz3sspuhkwLiM0dY7tQbkkJVZyK3CCwx6xWaNEcqhR9XjS96GH4M/mQr/lh+ua4UutFaMIiwG9pbAEXJCdj/MCiKbN2FMQKlRuUifR+PbngQyNNcBMxP/ufSfLPRk4ZmzE6j+seDJ3gHBjdUz4phnfcGZW8MKwmA7QqKhQ3MTFYLw/N7j6yIpxcEyDl8Ot0Er/P/gDbmsAXDSQ6wIDAQAB',
      headers: {
        'paypal-transmission-id': 'dfb3be50-fd74-11e4-8bf3-77339302725b',
        'paypal-transmission-time': '2015-05-18T15:45:13Z',
        'paypal-transmission-sig':
          'thy4/U002quzxFavHPwbfJGcc46E8rc5jzgyeafWm5mICTBdY/8rl7WJpn8JA0GKA+oDTPsSruqusw+XXg5RLAP7ip53Euh9Xu3UbUhQFX7UgwzE2FeYoY6lyRMiiiQLzy9BvHfIzNIVhPad4KnC339dr6y2l+mN8ALgI4GCdIh3/SoJO5wE64Bh/ueWtt8EVuvsvXfda2Le5a2TrOI9vLEzsm9GS79hAR/5oLexNz8UiZr045Mr5ObroH4w4oNfmkTaDk9Rj0G19uvISs5QzgmBpauKr7Nw++JI0pr/v5mFctQkoWJSGfBGzPRXawrvIIVHQ9Wer48GR2g9ZiApWg==',
        'paypal-cert-url': 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77',
        'paypal-auth-algo': 'SHA256withRSA',
      },
      body: '{"id":"WH-0G2756385H040842W-5Y612302CV158622M","create_time":"2015-05-18T15:45:13Z","resource_type":"sale","event_type":"PAYMENT.SALE.COMPLETED","summary":"Payment completed for $ 20.0 USD","resource":{"id":"4EU7004268015634R","create_time":"2015-05-18T15:44:02Z","update_time":"2015-05-18T15:44:21Z","amount":{"total":"20.00","currency":"USD"},"payment_mode":"INSTANT_TRANSFER","state":"completed","protection_eligibility":"ELIGIBLE","protection_eligibility_type":"ITEM_NOT_RECEIVED_ELIGIBLE,UNAUTHORIZED_PAYMENT_ELIGIBLE","parent_payment":"PAY-86C81811X5228590KKVNARQQ","transaction_fee":{"value":"0.88","currency":"USD"},"links":[{"href":"https://api.sandbox.paypal.com/v1/payments/sale/4EU7004268015634R","rel":"self","method":"GET"},{"href":"https://api.sandbox.paypal.com/v1/payments/sale/4EU7004268015634R/refund","rel":"refund","method":"POST"},{"href":"https://api.sandbox.paypal.com/v1/payments/payment/PAY-86C81811X5228590KKVNARQQ","rel":"parent_payment","method":"GET"}]},"links":[{"href":"https://api.sandbox.paypal.com/v1/notifications/webhooks-events/WH-0G2756385H040842W-5Y612302CV158622M","rel":"self","method":"GET"},{"href":"https://api.sandbox.paypal.com/v1/notifications/webhooks-events/WH-0G2756385H040842W-5Y612302CV158622M/resend","rel":"resend","method":"POST"}]}',
      nowSeconds: 1431963913,
    },
  ],
};
