import { defineProvider } from './define.ts';

export const mollieClassic = defineProvider({
  name: 'mollie-classic',
  docs: 'https://docs.mollie.com/reference/webhooks',
  // Mollie proves nothing here. The token is yours: put it into the webhook's URL, `…/webhooks/mollie?token=<secret>`.
  scheme: { token: 'query:token' },
  form: true,
  // Only says which payment has news, and says it again with the next news: every delivery is an event, and the
  // handler fetches the payment.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  type: ['changed'],
});
