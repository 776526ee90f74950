import { type Proof, said } from './proof.ts';
import { seconds } from './sample.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'documentation.mailgun.com/docs/mailgun/user-manual/webhooks; help.mailgun.com 202236504; webhook-co/webhook apps/docs/providers/mailgun.mdx',
    signature: said(
      'hmac-sha256 hex at json:signature.signature … json:signature.parent-signature',
      'documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks: parent-signature, "only included when event happens on a subaccount"',
    ),
    covers: '{json:signature.timestamp}{json:signature.token}',
    key: 'text',
    window: said('32400 s, in s', '"not too far from the current time"; longer than the retries'),
    id: said(
      'event-data.id + event-data.timestamp',
      'documentation.mailgun.com event structure: "unique within a day"',
    ),
    isIdSigned: false,
    replayKey: 'signature.token',
    type: 'event-data.event',
    time: 'event-data.timestamp (s)',
    limit: null,
    retries: said(8.1, 'after 10, 10, 15, 30 minutes, 1, 2 and 4 hours'),
    ends: '200, or 406',
    same: 'id and time of the event',
    open: "whether a retry has the same token and time; that a sub-account's signature is made with its own key is how we read the page on parent-signature",
    limits: [
      'Mailgun signs a token and not the body. The token is the replay key, so a captured delivery with another body is parked.',
      "If the same event arrives again under a new token, that second token is not recorded, and doesn't protect anything.",
    ],
  },
  accepts: { seconds: 9 * 3600 },
  pairs: {
    source: 'documentation.mailgun.com event structure, symfony/mailer Mailgun fixtures',
    body: (now) => ({
      signature: {
        timestamp: String(seconds(now)),
        token: `a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f97${now.getTime()}`,
        signature: '{signature}',
      },
      'event-data': { id: 'CPgfbmQMTCKtHW6uIWtuVe', event: 'opened', timestamp: 1521472262.908181 },
    }),
    events: [['CPgfbmQMTCKtHW6uIWtuVe:1521472262.908181', 'opened', '2018-03-19T15:11:02.908Z']],
    apart: {
      'an id that is used again after a day': { values: { 'event-data.timestamp': 1521558662.908181 } },
      'one message, opened twice in one microsecond': { values: { 'event-data.id': 'Ase7i2zsRYeDXztHGENqRA' } },
    },
    same: {
      'a captured token with another event': {
        values: { 'event-data.id': 'forged' },
        captured: true,
        outcome: 'parked',
      },
      'a retry, signed with a new token': {},
    },
  },
  vectors: [
    {
      id: 'mailgun/parent-signature',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      note: 'the key of the account above the sub-account',
      secret: 'own-key-of-the-account-0123456789',
      headers: {},
      body: '{"signature":{"timestamp":"1772366400","token":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","signature":"688e228c9e28a6cc8ee974230587b6e20d94684fa31e60b51b4dc11aad77be7f","parent-signature":"ddab868cc681b045651aec426d7d9b8c277a279d7cbaece741dbefeba11e6d1d"},"event-data":{"id":"1"}}',
      nowSeconds: 1772366400,
    },
    {
      id: 'mailgun/signature-of-a-subaccount',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      note: 'the key of the sub-account itself',
      secret: 'own-key-of-the-subaccount-0123456',
      headers: {},
      body: '{"signature":{"timestamp":"1772366400","token":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","signature":"688e228c9e28a6cc8ee974230587b6e20d94684fa31e60b51b4dc11aad77be7f","parent-signature":"ddab868cc681b045651aec426d7d9b8c277a279d7cbaece741dbefeba11e6d1d"},"event-data":{"id":"1"}}',
      nowSeconds: 1772366400,
    },
    {
      id: 'mailgun/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: {},
      body: '{"signature":{"timestamp":"1772366400","token":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","signature":"2b6a767050c04256d72bef0af5ae2b943a6fe18109e91f512b259ade21bd4763"},"event-data":{"id":"1"}}',
      nowSeconds: 1772366400,
    },
    {
      id: 'mailgun/symfony-test',
      origin: 'third-party-test',
      source:
        'symfony/symfony src/Symfony/Component/Mailer/Bridge/Mailgun/Tests/Webhook (delivered_messages.json, shortened: the body is not signed)',
      secret: 'key-0p6mqbf74lb20gzq9f4dhpn9rg3zyk26',
      headers: {},
      body: '{"signature":{"token":"d1931d9645b65e60f6fddf94448e982ff8db9256144a7fcb15","timestamp":"1661621787","signature":"1aed11dcc25700d6b75f9a6d568343ea02ecdd3fc89cc3209e2883a19e5cdd50"},"event-data":{"id":"CPgfbmQMTCKtHW6uIWtuVe","timestamp":1521472262.000002,"event":"delivered"}}',
      nowSeconds: 1661621787,
    },
  ],
};
