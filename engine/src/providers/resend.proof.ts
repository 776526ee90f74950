import { type Proof, said } from './proof.ts';
import { standardFacts, standardPairs, svixDelivery } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'resend', signs: false },
  facts: {
    read: '2026-11-19',
    notFound: ['limit'],
    from: 'resend/resend-node src/webhooks; resend.com/docs/webhooks/retries-and-replays',
    ...standardFacts('svix'),
    type: 'type',
    time: 'created_at (iso)',
    ...svixDelivery,
    retries: said(27.6, 'resend.com/docs/webhooks/retries-and-replays: after 5 s, 5 min, 30 min, 2, 5, 10 and 10 h'),
    byHand: 'in the dashboard, also what has succeeded',
    same: 'svix-id',
  },
  pairs: standardPairs(
    { type: 'email.opened', created_at: '2026-06-18T09:12:03.041Z', data: { email_id: '4ef9a417' } },
    ['msg_one', 'email.opened', '2026-06-18T09:12:03.041Z'],
    'resend.com/docs/dashboard/webhooks/introduction (in triggerdotdev/trigger.dev)',
  ),
};
