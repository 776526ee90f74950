import { defineProvider } from './define.ts';
import { svixSymmetric } from './shared-schemes.ts';

export const clerk = defineProvider({
  name: 'clerk',
  docs: 'https://clerk.com/docs/webhooks/overview',
  scheme: svixSymmetric,
  id: { at: '{header:svix-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:timestamp', unit: 'ms' },
  retriesForDays: 2,
});
