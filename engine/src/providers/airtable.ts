import { defineProvider } from './define.ts';

export const airtable = defineProvider({
  name: 'airtable',
  docs: 'https://airtable.com/developers/web/api/webhooks-overview',
  scheme: { signature: 'header:x-airtable-content-mac#hmac-sha256', encoding: 'hex', key: 'base64', signed: '{body}' },
  // A notification only says that a base has changed, and two changes may have the same body. So every delivery counts
  // as a new event.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  type: ['changed'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
  ack: { status: 204 },
  retriesForDays: 1,
});
