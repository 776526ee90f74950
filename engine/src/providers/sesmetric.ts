import { defineProvider } from './define.ts';

export const sesmetric = defineProvider({
  name: 'sesmetric',
  docs: 'In-house sender: hex HMAC-SHA256 of the timestamp, a full stop and the body, valid for 300 s.',
  scheme: {
    signature: 'header:x-sesmetric-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{header:x-sesmetric-timestamp}.{body}',
    timestamp: { at: 'header:x-sesmetric-timestamp', unit: 's', windowSeconds: 300 },
  },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 3,
});
