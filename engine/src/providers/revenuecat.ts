import { defineProvider } from './define.ts';

export const revenuecat = defineProvider({
  name: 'revenuecat',
  docs: 'https://www.revenuecat.com/docs/integrations/webhooks',
  // The authorization header, exactly as it was typed in RevenueCat's settings.
  scheme: { token: 'header:authorization' },
  // A signature, if it is switched on. Each attempt is signed with its own time.
  otherSchemes: [
    {
      signature: 'header:x-revenuecat-webhook-signature#v1',
      encoding: 'hex',
      key: 'utf8',
      signed: '{header:x-revenuecat-webhook-signature#t}.{body}',
      timestamp: { at: 'header:x-revenuecat-webhook-signature#t', unit: 's', windowSeconds: 300 },
    },
  ],
  id: { at: '{json:event.id}', signed: false },
  type: ['{json:event.type}'],
  occurredAt: { at: 'json:event.event_timestamp_ms', unit: 'ms' },
});
