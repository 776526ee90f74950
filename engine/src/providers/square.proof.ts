import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'developer.squareup.com/docs/webhooks',
    signature: said(
      'hmac-sha256 base64 at header:x-square-hmacsha256-signature',
      'square/square-nodejs-sdk WebhooksHelper',
    ),
    covers: said('{url}{body}', 'square/square-nodejs-sdk WebhooksHelper'),
    key: 'text',
    id: 'event_id',
    isIdSigned: true,
    type: 'type',
    time: 'created_at (iso)',
    limit: said(10, 'an older copy of the page; now "as soon as possible"'),
    retries: said(24, 'developer.squareup.com/docs/webhooks/troubleshooting; an older copy says 72'),
    ends: 'any 2xx; after three weeks of failures the subscription is disabled',
    same: 'event_id',
  },
  pairs: {
    source: 'developer.squareup.com/reference/square/payments-api/webhooks (in triggerdotdev/trigger.dev)',
    body: {
      type: 'payment.updated',
      event_id: '13b867cf',
      created_at: '2020-02-06T21:27:34.308Z',
      data: { id: 'hYy9pRFVxpDsO1FB05SunFWUe9JZY' },
    },
    events: [['13b867cf', 'payment.updated', '2020-02-06T21:27:34.308Z']],
    apart: { 'one payment, updated twice': { values: { event_id: '13b867d0' } } },
    same: { 'a retry': { headers: { 'square-retry-number': '1', 'square-retry-reason': 'http_timeout' } } },
  },
  vectors: [
    {
      id: 'square/real-notification',
      origin: 'official-sdk-test',
      source: 'square/square-nodejs-sdk tests/integration/webhooks.test.ts',
      secret: 'Ibxx_5AKakO-3qeNVR61Dw',
      method: 'POST',
      url: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9',
      headers: { 'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=' },
      body: '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    },
  ],
};
