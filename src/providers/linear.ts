import { defineProvider } from './define.ts';

export const linear = defineProvider({
  name: 'linear',
  docs: 'https://linear.app/developers/webhooks',
  scheme: {
    signature: 'header:linear-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
    // Retried after 1 minute, 1 hour and 6 hours. Whether a retry is dated anew isn't documented, and the minute that
    // its SDK allows would then refuse every one of them: the window covers the last. A replay is stopped by the claim.
    timestamp: { at: 'json:webhookTimestamp', unit: 'ms', windowSeconds: 8 * 3600 },
  },
  id: { at: '{header:linear-delivery}', signed: false },
  type: ['{json:type}.{json:action}', '{header:linear-event}'],
  occurredAt: { at: 'json:createdAt', unit: 'iso' },
});
