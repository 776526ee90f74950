import { defineProvider } from './define.ts';

export const awardee = defineProvider({
  name: 'awardee',
  docs: 'In-house sender. Its signature header is undocumented: hex HMAC-SHA256 of the body in X-Awardee-Signature is our assumption.',
  scheme: {
    signature: 'header:x-awardee-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // A new id with the same body is a new event, so no fingerprint guards the unsigned id: a captured
  // body can be replayed under a fresh one. Retried for 24 hours.
  id: { at: '{header:x-awardee-delivery}', signed: false, bodiesRepeat: true },
  type: ['{header:x-awardee-event}'],
  retriesForDays: 1,
});
