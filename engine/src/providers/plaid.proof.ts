import { type Proof, said } from './proof.ts';

const updates = {
  webhook_type: 'TRANSACTIONS',
  webhook_code: 'SYNC_UPDATES_AVAILABLE',
  item_id: 'wz666MBjYWTp2PDzzggYhM6oWWmBb',
  environment: 'production',
};

export const proof: Proof = {
  sdk: { sdk: 'jsonwebtoken', signs: true, by: 'others' },
  facts: {
    read: '2026-11-20',
    from: 'plaid.com/docs/api/webhooks/webhook-verification, plaid.com/docs/api/webhooks',
    signature: said(
      'ES256 JWS at header:plaid-verification',
      'the same page: "Reject the webhook if this is not the case"',
    ),
    covers: 'the body, by request_body_sha256',
    key: 'by its id from https://{environment}.plaid.com/webhook_verification_key/get',
    window: said('300 s, in s', 'plaid.com/docs/api/webhooks/webhook-verification: not more than 5 minutes old'),
    id: said(
      'iat + content',
      'plaid.com/docs/api/webhooks documents no id; gabeoleary.com/posts/plaid-webhooks: "don’t come with a unique id"',
    ),
    isIdSigned: true,
    type: 'webhook_type + webhook_code',
    limit: 10,
    retries: said(24, 'support.plaid.com/hc/articles/40390675922967: after 30 s, and each delay four times the last'),
    ends: '200, or 24 hours. Nothing is sent again once 90% of a day’s webhooks were refused',
    byHand: 'none: support.plaid.com/hc/articles/40390675922967',
    same: 'what was signed in the same second with the same body',
    limits: [
      'The secret is three words: the client id, the API secret, and `production` or `sandbox`. Plaid gives a key to its customers alone, so the receiver calls its API for a key that it doesn’t know.',
      'A retry is another event: nothing tells it from a second change. Fetch the current state in the handler, which is then safe.',
    ],
    open: 'whether a retry is signed anew (otherwise the window refuses all but the first ones); how long a key is used',
  },
  pairs: {
    source: 'plaid.com/docs/api/products/transactions',
    body: updates,
    events: [['1772366340:content', 'TRANSACTIONS.SYNC_UPDATES_AVAILABLE', null]],
    apart: {
      'two changes, which say the same': {},
      'two items in the same second': { values: { item_id: 'another' } },
    },
    same: { 'a retry': { outcome: 'accepted' } },
  },
  vectors: [
    {
      id: 'plaid/own',
      origin: 'own',
      source: 'computed with jsonwebtoken, as plaid.com/docs describes it',
      secret:
        '0123456789abcdef01234567 0123456789abcdef sandbox key:MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgUbngzdlJP2bx/i3XJp7Tu8N+gWiHjx8xwuiQ+mDv+W/HNe7cfpRDvfud9wH9mPlNvA+HSHcAU9SGM86/9xEew==',
      headers: {
        'plaid-verification':
          'eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImJmYmQ1MTExLThlMzMtNDY0My04Y2VkLWIyZTY0MmE3MmYzYyJ9.eyJpYXQiOjE3NzIzNjY0MDAsInJlcXVlc3RfYm9keV9zaGEyNTYiOiJhMzI4NGI1ZTdiOGQzNDVlNDlhYmIyODhkMGY5YmRjMmEyYjgzNzI5YzE0NWZkMGFiMTIyMzljYzMwMDUzZDYxIn0.I4T0J9gqOHdrpWggrYnrbKvdsnD9CeZAjn-u_T2rgC0O9IrYtmKnBQECMPRdW2GjuZXjlAzXwlpW383-md0ssg',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
