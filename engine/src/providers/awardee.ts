import { defineProvider } from './define.ts';

export const awardee = defineProvider({
  name: 'awardee',
  docs: 'In-house sender. Its signature is not documented. We assume hex HMAC-SHA256 of the body in X-Awardee-Signature.',
  scheme: {
    signature: 'header:x-awardee-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // Two events may have the same body, so the body can't be the replay key. The id is not signed, so somebody who has
  // captured a delivery can send it again under another id.
  id: { at: '{header:x-awardee-delivery}', signed: false, bodiesRepeat: true },
  type: ['{header:x-awardee-event}'],
  retriesForDays: 1,
});
