import { defineProvider } from './define.ts';

export const xero = defineProvider({
  name: 'xero',
  docs: 'https://developer.xero.com/documentation/guides/webhooks/overview/',
  scheme: { signature: 'header:x-xero-signature', encoding: 'base64', key: 'utf8', signed: '{body}' },
  // Xero asks whether signatures are checked with empty batches, right and wrong ones: 200 and 401 are all it wants.
  batch: { each: ['events.*'] },
  id: { at: '{json:tenantId}:{json:resourceId}:{json:eventType}:{json:eventDateUtc}', signed: true },
  type: ['{json:eventCategory}.{json:eventType}'],
  occurredAt: { at: 'json:eventDateUtc', unit: 'iso' },
  // A body in the answer counts as a failure.
  ack: { status: 200 },
  retriesForDays: 1,
});
