import { defineProvider } from './define.ts';

export const mollie = defineProvider({
  name: 'mollie',
  docs: 'https://docs.mollie.com/reference/webhooks-new',
  // For a day after a rotation, Mollie sends two headers, one for each secret.
  scheme: { signature: 'header:x-mollie-signature#sha256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:createdAt', unit: 'iso' },
  retriesForDays: 2,
});
