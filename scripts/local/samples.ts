import { randomUUID } from 'node:crypto';

/** A small, plausible delivery of a provider. `{signature}`, `{timestamp}`, `{id}` and `{type}` are filled in. */
export interface Sample {
  readonly types: readonly [string, ...string[]];
  readonly id: () => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (id: string, type: string, now: Date) => object;
}

const short = () => randomUUID().replaceAll('-', '').slice(0, 24);
const seconds = (now: Date) => Math.floor(now.getTime() / 1000);

/** By the provider's name. */
export const samples: Readonly<Record<string, Sample>> = {
  stripe: {
    types: ['invoice.paid'],
    id: () => `evt_${short()}`,
    headers: { 'stripe-signature': 't={timestamp},v1={signature}' },
    body: (id, type, now) => ({
      id,
      object: 'event',
      type,
      created: seconds(now),
      data: {
        object: {
          id: `in_${id.slice(4)}`,
          object: 'invoice',
          customer: 'cus_sample',
          customer_email: 'customer@example.com',
          amount_paid: 4200,
          currency: 'eur',
        },
      },
    }),
  },
  github: {
    types: ['push', 'ping'],
    id: randomUUID,
    headers: {
      'x-github-delivery': '{id}',
      'x-github-event': '{type}',
      'x-hub-signature-256': 'sha256={signature}',
      'user-agent': 'GitHub-Hookshot/sample',
    },
    body: (id) => ({ ref: 'refs/heads/main', after: id, repository: { full_name: 'octo-org/sample' } }),
  },
  standardwebhooks: {
    types: ['invoice.created'],
    id: () => `msg_${short()}`,
    headers: { 'webhook-id': '{id}', 'webhook-timestamp': '{timestamp}', 'webhook-signature': 'v1,{signature}' },
    body: (id, type, now) => ({ type, timestamp: now.toISOString(), data: { id: `obj_${id.slice(4)}` } }),
  },
  sesmetric: {
    types: ['delivery', 'bounce'],
    id: randomUUID,
    headers: { 'x-sesmetric-timestamp': '{timestamp}', 'x-sesmetric-signature': '{signature}' },
    body: (id, type, now) => ({ id, type, created_at: now.toISOString(), email: 'customer@example.com' }),
  },
  awardee: {
    types: ['nomination.created'],
    id: randomUUID,
    headers: { 'x-awardee-delivery': '{id}', 'x-awardee-event': '{type}', 'x-awardee-signature': '{signature}' },
    body: () => ({ nomination: { id: 'nom_sample', category: 'template of the year' } }),
  },
  gethook: {
    types: ['record.updated'],
    id: randomUUID,
    headers: { 'x-gethook-signature': '{signature}' },
    body: (id, type, now) => ({ id, type, created_at: now.toISOString(), record: 'rec_sample' }),
  },
};
