import { defineProvider } from './define.ts';

export const linear = defineProvider({
  name: 'linear',
  docs: 'https://linear.app/developers/webhooks',
  scheme: {
    signature: 'header:linear-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
    // Linear retries after 1 minute, 1 hour and 6 hours, and doesn't document whether a retry has a new time. If it
    // doesn't, the minute that Linear's SDK allows would refuse every retry. So the window covers the last retry. The
    // claim detects replays.
    timestamp: { at: 'json:webhookTimestamp', unit: 'ms', windowSeconds: 8 * 3600 },
  },
  // The body contains the time at which it was sent, and it is not documented whether a retry has a new one.
  id: { at: '{header:linear-delivery}', signed: false, retriesDiffer: true },
  type: ['{json:type}.{json:action}', '{header:linear-event}'],
  occurredAt: { at: 'json:createdAt', unit: 'iso' },
});
