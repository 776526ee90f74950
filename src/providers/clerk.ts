import { svixSymmetric } from './svix.ts';
import type { Provider } from './types.ts';

export const clerk = {
  name: 'clerk',
  docs: 'https://clerk.com/docs/webhooks/overview',
  scheme: svixSymmetric,
  id: { at: '{header:svix-id}', signed: true },
  type: ['{json:type}'],
  // The unit of its timestamp is not documented, and a wrong one would put every event into 1970.
  retriesForDays: 2,
} as const satisfies Provider;
