import { defineProvider } from './define.ts';

export const paddle = defineProvider({
  name: 'paddle',
  docs: 'https://developer.paddle.com/webhooks/signature-verification',
  scheme: {
    // Any h1 may match, because there may be two while a secret is rotated. Paddle's SDK reads only the last one.
    signature: 'header:paddle-signature#h1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{header:paddle-signature#ts}:{body}',
    // Paddle's SDK allows 5 seconds, but a slow network can take longer. The claim detects replays.
    timestamp: { at: 'header:paddle-signature#ts', unit: 's', windowSeconds: 300 },
  },
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:event_type}'],
  occurredAt: { at: 'json:occurred_at', unit: 'iso' },
  retriesForDays: 3,
});
