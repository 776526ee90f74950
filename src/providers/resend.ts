import { svixSymmetric } from './svix.ts';
import type { Provider } from './types.ts';

export const resend = {
  name: 'resend',
  docs: 'https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests',
  scheme: svixSymmetric,
  id: { at: '{header:svix-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 2,
} as const satisfies Provider;
