import { defineProvider } from './define.ts';

export const mollie = defineProvider({
  name: 'mollie',
  docs: 'https://docs.mollie.com/reference/webhooks-new',
  scheme: { signature: 'header:x-mollie-signature#sha256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:createdAt', unit: 'iso' },
});
