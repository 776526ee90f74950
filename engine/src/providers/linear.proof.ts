import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@linear/sdk', signs: false },
  facts: {
    read: '2026-11-20',
    from: 'linear.app/developers/webhooks',
    signature: said('hmac-sha256 hex at header:linear-signature', '@linear/sdk webhooks'),
    ...HMAC_BODY,
    window: said(
      '28800 s, in ms',
      '@linear/sdk allows 60 s, requires the time in the body and ignores the header linear-timestamp; longer than the retries, because nobody documents whether they have a new time',
    ),
    id: said('linear-delivery', 'identifies the payload; whether a retry has the same is not documented'),
    isIdSigned: false,
    type: 'type + action / linear-event',
    time: 'createdAt (iso)',
    limit: 5,
    retries: said(7.02, 'three: after 1 minute, 1 hour and 6 hours'),
    ends: 'exactly 200, or the third retry. A webhook that keeps failing may be disabled',
    same: 'Linear-Delivery',
    open: 'whether a retry has the same Linear-Delivery and a new time; vercel/eve#1570 argues that it is the same in every byte',
  },
  accepts: { seconds: 8 * 3600 },
  pairs: {
    source: 'linear.app/developers/webhooks (in triggerdotdev/trigger.dev)',
    type: 'Issue.update',
    body: (now) => ({
      type: 'Issue',
      action: 'update',
      createdAt: '2026-01-31T12:00:00.123Z',
      webhookTimestamp: now.getTime(),
      updatedFrom: { title: 'Webhooks' },
    }),
    events: [['msg_one', 'Issue.update', '2026-01-31T12:00:00.123Z']],
    same: {
      'a captured body under another id': { headers: { 'linear-delivery': 'two' }, captured: true, outcome: 'parked' },
      'a retry, whatever its unsigned header says': {
        body: (now) => ({ type: 'Issue', action: 'update', webhookTimestamp: now.getTime() }),
        events: [['msg_one', 'Issue.update', null]],
        both: { headers: { 'linear-event': 'Project' } },
      },
      'a retry of an event without an action': {
        body: (now) => ({ type: 'OAuthApp', webhookTimestamp: now.getTime() }),
        events: [['msg_one', 'OAuthApp', null]],
        both: { headers: { 'linear-event': 'OAuthApp' } },
      },
    },
    apart: { 'one issue, updated twice at once': { id: 'two', values: { updatedFrom: { priority: 1 } } } },
  },
  vectors: [
    {
      id: 'linear/own',
      origin: 'own',
      source: "computed once with Python's hmac, from the provider's documentation",
      secret: 'own-secret-0123456789abcdef',
      headers: { 'linear-signature': 'ced988059e17817002711e8b881a62400ca115fd726c92995d4a0cf0d6fb1baf' },
      body: '{"action":"create","type":"Issue","webhookTimestamp":1772366400000}',
      nowSeconds: 1772366400,
    },
  ],
};
