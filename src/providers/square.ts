import { defineProvider } from './define.ts';

export const square = defineProvider({
  name: 'square',
  docs: 'https://developer.squareup.com/docs/webhooks/step3validate',
  // The URL as it is written in Square's dashboard. A source behind another address names it: `url`.
  scheme: { signature: 'header:x-square-hmacsha256-signature', encoding: 'base64', key: 'utf8', signed: '{url}{body}' },
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 3,
});
