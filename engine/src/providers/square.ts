import { defineProvider } from './define.ts';

export const square = defineProvider({
  name: 'square',
  docs: 'https://developer.squareup.com/docs/webhooks/step3validate',
  // The URL exactly as it is configured in Square. If the Worker sees another URL, the source sets `url`.
  scheme: { signature: 'header:x-square-hmacsha256-signature', encoding: 'base64', key: 'utf8', signed: '{url}{body}' },
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 1,
});
