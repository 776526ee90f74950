import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'docs.lemonsqueezy.com/help/webhooks',
    signature: 'hmac-sha256 hex at header:x-signature',
    ...HMAC_BODY,
    id: said(
      'meta.webhook_id + meta.event_name + data.id',
      'several public repositories: webhook_id is a UUID, new for each event, the same on a retry',
    ),
    isIdSigned: true,
    type: 'meta.event_name',
    time: 'data.attributes.updated_at (iso)',
    limit: null,
    retries: said(0.05, 'three: after 5, 25 and 125 seconds'),
    ends: 'exactly 200, or the third retry',
    byHand: 'in the settings of the webhooks, which list the recent ones',
    same: 'meta.webhook_id, or the content',
    open: 'meta.webhook_id is not documented',
  },
  pairs: {
    source:
      'docs.lemonsqueezy.com/help/webhooks/webhook-requests; meta.webhook_id as several public repositories store it',
    type: 'subscription_updated',
    body: {
      meta: { event_name: 'subscription_updated', webhook_id: '1' },
      data: { id: '1', attributes: { updated_at: '2021-08-17T09:45:53.000000Z' } },
    },
    events: [['1:subscription_updated:1', 'subscription_updated', '2021-08-17T09:45:53.000Z']],
    apart: {
      'two updates in one second': { values: { 'meta.webhook_id': '2' } },
      'two updates in one second, without a webhook_id': {
        body: { meta: { event_name: 'subscription_updated' }, data: { id: '1', attributes: { status: 'active' } } },
        events: [['content', 'subscription_updated', null]],
        values: { 'data.attributes.status': 'cancelled' },
      },
      'two objects without a time of their last change': {
        body: { meta: { event_name: 'license_key_created' }, data: { id: '1', attributes: {} } },
        events: [['content', 'license_key_created', null]],
        values: { 'data.id': '2' },
      },
    },
  },
  vectors: [
    {
      id: 'lemonsqueezy/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-signature': '10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
