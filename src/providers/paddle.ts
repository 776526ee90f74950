import { defineProvider } from './define.ts';

export const paddle = defineProvider({
  name: 'paddle',
  docs: 'https://developer.paddle.com/webhooks/signature-verification',
  scheme: {
    // Paddle's SDK looks at the last h1 only; any may match here, as while a secret is rotated.
    signature: 'header:paddle-signature#h1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{header:paddle-signature#ts}:{body}',
    // Its SDK allows 5 seconds, which is less than a slow network takes. A replay is stopped by the claim.
    timestamp: { at: 'header:paddle-signature#ts', unit: 's', windowSeconds: 300 },
  },
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:event_type}'],
  occurredAt: { at: 'json:occurred_at', unit: 'iso' },
  retriesForDays: 3,
});
