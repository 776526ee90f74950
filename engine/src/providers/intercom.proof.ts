import type { Proof } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'developers.intercom.com/docs/webhooks/webhook-notifications; webhook-co/webhook webhooks-spec',
    signature: 'hmac-sha1 hex at header:x-hub-signature#sha1',
    ...HMAC_BODY,
    id: 'id / topic + created_at',
    isIdSigned: true,
    type: 'topic',
    time: 'created_at (s)',
    limit: 5,
    retries: null,
    ends: '200. After a 429 it is tried again for two hours. 1,000 errors in a row pause the subscription for 15 minutes, and seven days of errors suspend that of a private app',
    same: 'the id of the notification. delivery_attempts, which is in the body, differs',
    open: 'how often Intercom retries',
  },
  pairs: {
    source: 'developers.intercom.com/docs/references/webhooks/webhook-models (in triggerdotdev/trigger.dev)',
    body: { topic: 'conversation.user.replied', id: 'notif_5f27a9e0', created_at: 1781524800, delivery_attempts: 1 },
    events: [['notif_5f27a9e0', 'conversation.user.replied', '2026-06-15T12:00:00.000Z']],
    apart: { 'two replies in one second': { values: { id: 'notif_5f27a9e1' } } },
    same: {
      'a retry, which counts its attempts': { values: { delivery_attempts: 2 } },
      'a retry of a ping, which has no id': {
        body: { id: null, topic: 'ping', created_at: 1781524800, delivery_attempts: 1 },
        events: [['ping:1781524800', 'ping', '2026-06-15T12:00:00.000Z']],
        values: { delivery_attempts: 2 },
      },
      'a ping without an id and a time': { body: { id: null, topic: 'ping' }, events: [['content', 'ping', null]] },
    },
  },
  vectors: [
    {
      id: 'intercom/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-hub-signature': 'sha1=14d91bf7753923a02b1d2641e806854cd0baf7f1' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
