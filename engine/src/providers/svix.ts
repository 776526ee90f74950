import { defineProvider } from './define.ts';
import { svixAsymmetric, svixSymmetric } from './shared-schemes.ts';

export const svix = defineProvider({
  name: 'svix',
  docs: 'https://docs.svix.com/receiving/verifying-payloads/how-manual',
  scheme: svixSymmetric,
  otherSchemes: [svixAsymmetric],
  id: { at: '{header:svix-id}', signed: true },
  // The sender decides what the body contains. These two names are common.
  type: ['{json:type}', '{json:event_type}'],
  retriesForDays: 2,
});
