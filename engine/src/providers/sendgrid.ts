import { defineProvider } from './define.ts';

export const sendgrid = defineProvider({
  name: 'sendgrid',
  docs: 'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
  scheme: {
    algorithm: 'ecdsa-p256-der',
    signature: 'header:x-twilio-email-event-webhook-signature',
    encoding: 'base64',
    // The public key, exactly as SendGrid's settings show it.
    key: 'base64',
    signed: '{header:x-twilio-email-event-webhook-timestamp}{body}',
    // SendGrid retries for 24 hours, and doesn't document whether a retry has a new time.
    timestamp: { at: 'header:x-twilio-email-event-webhook-timestamp', unit: 's', windowSeconds: 25 * 3600 },
  },
  batch: { each: ['*'] },
  id: { at: '{json:sg_event_id}', signed: true },
  type: ['{json:event}'],
  occurredAt: { at: 'json:timestamp', unit: 's' },
  retriesForDays: 1,
});
