import type { Proof } from './proof.ts';
import { standardFacts, standardPairs, svixDelivery } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@clerk/backend', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'clerk/clerk-docs docs/guides/development/webhooks/overview.mdx; clerk/javascript packages/backend/src/webhooks.ts',
    ...standardFacts('svix'),
    type: 'type',
    time: 'timestamp (ms)',
    ...svixDelivery,
    byHand: 'in the dashboard ("Replay"), with the same svix-id',
    same: 'svix-id',
  },
  pairs: standardPairs(
    { type: 'user.updated', timestamp: 1716883200000, data: { id: 'user_29w83sxmDNGwOuEthce5gg56FcC' } },
    ['msg_one', 'user.updated', '2024-05-28T08:00:00.000Z'],
    'clerk.com/docs/webhooks/overview (in triggerdotdev/trigger.dev)',
  ),
};
