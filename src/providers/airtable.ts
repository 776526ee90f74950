import { defineProvider } from './define.ts';

export const airtable = defineProvider({
  name: 'airtable',
  // No official sample was at hand: hex, and the decoded key, are proved by the test of a third-party library.
  docs: 'https://airtable.com/developers/web/api/webhooks-overview',
  scheme: { signature: 'header:x-airtable-content-mac#hmac-sha256', encoding: 'hex', key: 'base64', signed: '{body}' },
  // Only says that a base has news. The same body may come again with the next news, so every delivery is an event.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  type: ['changed'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
});
