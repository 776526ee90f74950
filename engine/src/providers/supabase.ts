import { defineProvider } from './define.ts';

export const supabase = defineProvider({
  name: 'supabase',
  docs: 'https://supabase.com/docs/guides/database/webhooks',
  // Supabase doesn't sign. Add the header when you create the webhook. Its whole value is the secret.
  scheme: { token: 'header:authorization' },
  // There is neither an id nor a time, and a row that changes back and forth sends the same body again. pg_net sends
  // each change once and never retries, so every delivery counts as a new event.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  // For example `public.orders.INSERT`.
  type: ['{json:schema}.{json:table}.{json:type}'],
});
