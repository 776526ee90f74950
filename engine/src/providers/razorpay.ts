import { defineProvider } from './define.ts';

export const razorpay = defineProvider({
  name: 'razorpay',
  docs: 'https://razorpay.com/docs/webhooks/validate-test/',
  // A retry is signed with the secret of the first attempt. After a rotation, keep the previous secret for a day.
  scheme: { signature: 'header:x-razorpay-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{header:x-razorpay-event-id}', signed: false },
  type: ['{json:event}'],
  occurredAt: { at: 'json:created_at', unit: 's' },
  retriesForDays: 1,
});
