import { defineProvider } from './define.ts';
import { svixSymmetric } from './shared-schemes.ts';

export const resend = defineProvider({
  name: 'resend',
  docs: 'https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests',
  scheme: svixSymmetric,
  id: { at: '{header:svix-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 2,
});
