import { defineProvider } from './define.ts';

export const square = defineProvider({
  name: 'square',
  docs: 'https://developer.squareup.com/docs/webhooks/step3validate',
  // The URL exactly as configured in Square. If the Worker sees a different URL, set the source's `url`.
  scheme: { signature: 'header:x-square-hmacsha256-signature', encoding: 'base64', key: 'utf8', signed: '{url}{body}' },
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 1,
});
