import { defineProvider } from './define.ts';

export const stripe = defineProvider({
  name: 'stripe',
  docs: 'https://docs.stripe.com/webhooks#verify-manually',
  scheme: {
    // Any v1 may match, because there are two while a secret is rotated. Test events also have a v0, which must be
    // ignored.
    signature: 'header:stripe-signature#v1',
    encoding: 'hex',
    // The whole secret is the key, including its prefix whsec_.
    key: 'utf8',
    signed: '{header:stripe-signature#t}.{body}',
    timestamp: { at: 'header:stripe-signature#t', unit: 's', windowSeconds: 300 },
  },
  secretPrefix: 'whsec_',
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  // A v1 event has seconds, and a v2 event has a text.
  occurredAt: [
    { at: 'json:created', unit: 's' },
    { at: 'json:created', unit: 'iso' },
  ],
  retriesForDays: 3,
});
