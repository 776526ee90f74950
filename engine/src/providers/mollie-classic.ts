import { defineProvider } from './define.ts';

export const mollieClassic = defineProvider({
  name: 'mollie-classic',
  docs: 'https://docs.mollie.com/reference/webhooks',
  // Mollie doesn't sign these webhooks. Choose a secret text as the token, and register the webhook's URL with it:
  // `…/webhooks/mollie?token=<secret>`.
  scheme: { token: 'query:token' },
  form: true,
  // A delivery only says which payment has changed, and the next change has the same body. So every delivery counts as
  // a new event, and the handler fetches the payment.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  type: ['changed'],
  retriesForDays: 2,
});
