import { defineProvider } from './define.ts';
import { svixSymmetric } from './shared-schemes.ts';

export const clerk = defineProvider({
  name: 'clerk',
  docs: 'https://clerk.com/docs/webhooks/overview',
  scheme: svixSymmetric,
  id: { at: '{header:svix-id}', signed: true },
  type: ['{json:type}'],
  // The unit of its timestamp is not documented, and a wrong one would put every event into 1970.
  retriesForDays: 2,
});
