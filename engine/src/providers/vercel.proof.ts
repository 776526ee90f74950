import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'vercel.com/docs/webhooks/webhooks-api, vercel.com/docs/webhooks',
    signature: said(
      'hmac-sha1 hex at header:x-vercel-signature',
      'vercel.com/docs/webhooks ("the sha1 of the payload body"); hookdeck/webhook-skills skills/vercel-webhooks, trigger.dev webhook-sources vercel.ts (an HMAC, in hex)',
    ),
    ...HMAC_BODY,
    id: said('id', 'vercel.com/docs/webhooks/webhooks-api: "the ID of the webhook delivery"'),
    isIdSigned: true,
    type: 'type',
    time: said('createdAt (ms)', 'hookdeck/webhook-skills and trigger.dev: a number; Vercel calls it a date'),
    limit: said(30, 'hookdeck/webhook-skills skills/vercel-webhooks/references/overview.md'),
    retries: said(24, 'hookdeck/webhook-skills skills/vercel-webhooks/references/overview.md: with growing delays'),
    ends: 'any 2xx, or 24 hours',
    same: 'the id',
    open: 'whether a retry has the same id; how long Vercel retries, and its time limit, are known from others only',
  },
  pairs: {
    source: 'trigger.dev webhook-sources vercel.ts',
    body: {
      id: '5FQ3bE5aQhZ1Vv2c4vXYzP1LhqoT',
      type: 'deployment.created',
      createdAt: 1752520920123,
      payload: { deployment: { id: 'dpl_5m3gYqz6' } },
    },
    events: [['5FQ3bE5aQhZ1Vv2c4vXYzP1LhqoT', 'deployment.created', '2025-07-14T19:22:00.123Z']],
    apart: { 'two events of one deployment in one millisecond': { values: { id: '9Kd2wR7fXmQ3Vv8c5bYpZ4LhqrN' } } },
  },
  vectors: [
    {
      id: 'vercel/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-vercel-signature': '14d91bf7753923a02b1d2641e806854cd0baf7f1' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
