import { defineProvider } from './define.ts';

export const chargebee = defineProvider({
  name: 'chargebee',
  docs: 'https://www.chargebee.com/docs/billing/2.0/site-configuration/webhook_settings',
  // Chargebee doesn't sign. User and password are set in the webhook's settings.
  scheme: { token: 'header:authorization', basic: true },
  // The body contains the state of the event's webhooks, which may differ in a retry.
  id: { at: '{json:id}', signed: false, retriesDiffer: true },
  type: ['{json:event_type}'],
  occurredAt: { at: 'json:occurred_at', unit: 's' },
  retriesForDays: 4,
});
