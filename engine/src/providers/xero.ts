import { defineProvider } from './define.ts';

export const xero = defineProvider({
  name: 'xero',
  docs: 'https://developer.xero.com/documentation/guides/webhooks/overview/',
  scheme: { signature: 'header:x-xero-signature', encoding: 'base64', key: 'utf8', signed: '{body}' },
  // Xero tests the URL with empty batches, some of them wrongly signed, and expects the answers 200 and 401.
  batch: { each: ['events.*'] },
  id: { at: '{json:tenantId}:{json:resourceId}:{json:eventType}:{json:eventDateUtc}', signed: true },
  type: ['{json:eventCategory}.{json:eventType}'],
  occurredAt: { at: 'json:eventDateUtc', unit: 'iso' },
  // Xero counts an answer with a body as a failure.
  ack: { status: 200 },
  // Xero retries for a day and then disables the webhook. Missed events are kept for 31 days and sent once it is
  // enabled again.
  retriesForDays: 31,
});
