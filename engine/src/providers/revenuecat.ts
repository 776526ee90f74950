import { defineProvider } from './define.ts';

export const revenuecat = defineProvider({
  name: 'revenuecat',
  docs: 'https://www.revenuecat.com/docs/integrations/webhooks',
  // Used if signing is switched on. Each attempt is signed with its own time.
  scheme: {
    signature: 'header:x-revenuecat-webhook-signature#v1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{header:x-revenuecat-webhook-signature#t}.{body}',
    timestamp: { at: 'header:x-revenuecat-webhook-signature#t', unit: 's', windowSeconds: 300 },
  },
  // The authorization header, exactly as it was typed in RevenueCat's settings. It doesn't sign the id, but anybody who
  // has it can send any event anyway.
  otherSchemes: [{ token: 'header:authorization' }],
  id: { at: '{json:event.id}', signed: true },
  type: ['{json:event.type}'],
  occurredAt: { at: 'json:event.event_timestamp_ms', unit: 'ms' },
});
