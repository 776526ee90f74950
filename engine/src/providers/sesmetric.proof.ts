import type { Proof } from './proof.ts';

export const proof: Proof = {
  facts: {
    from: "our own description, and SESMetric's article on retries",
    signature: 'hmac-sha256 hex at header:x-sesmetric-signature',
    covers: '{header:x-sesmetric-timestamp}.{body}',
    key: 'text',
    window: '300 s, in s',
    id: 'id',
    isIdSigned: true,
    type: 'type',
    time: 'created_at (iso)',
    limit: null,
    retries: 72,
    ends: 'any 2xx',
    same: 'the id of the event',
  },
  pairs: {
    source: 'our own description',
    body: { id: 'one', type: 'delivery', created_at: '2026-01-01T00:00:00Z', email: 'a@example.com' },
    events: [['one', 'delivery', '2026-01-01T00:00:00.000Z']],
    apart: { 'two deliveries to one address in one second': { values: { id: 'two' } } },
  },
  vectors: [
    {
      id: 'sesmetric/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'x-sesmetric-timestamp': '1772366400',
        'x-sesmetric-signature': '7e82295b04763460194c95676d22c4620e260cca2970cd6b31aba668930ef98c',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
