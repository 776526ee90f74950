import { defineProvider } from './define.ts';

export const stripe = defineProvider({
  name: 'stripe',
  docs: 'https://docs.stripe.com/webhooks#verify-manually',
  scheme: {
    // Any v1 may match (two while a secret is rolled). v0 is sent for test events only and means nothing.
    signature: 'header:stripe-signature#v1',
    encoding: 'hex',
    // The whole secret is the key, its whsec_ included.
    key: 'utf8',
    signed: '{header:stripe-signature#t}.{body}',
    timestamp: { at: 'header:stripe-signature#t', unit: 's', windowSeconds: 300 },
  },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created', unit: 's' },
  retriesForDays: 3,
});
