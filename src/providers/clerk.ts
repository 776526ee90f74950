import { defineProvider } from './define.ts';
import { svixSymmetric } from './shared-schemes.ts';

export const clerk = defineProvider({
  name: 'clerk',
  docs: 'https://clerk.com/docs/webhooks/overview',
  scheme: svixSymmetric,
  id: { at: '{header:svix-id}', signed: true },
  type: ['{json:type}'],
  // There is no `occurredAt`: Clerk doesn't document the unit of its timestamp, and a wrong unit would date events to
  // 1970.
  retriesForDays: 2,
});
