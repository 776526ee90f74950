import { defineProvider } from './define.ts';

export const pagerduty = defineProvider({
  name: 'pagerduty',
  docs: 'https://developer.pagerduty.com/docs/verifying-signatures',
  scheme: {
    // While a secret is rotated, the header contains several signatures.
    signature: 'header:x-pagerduty-signature#v1',
    encoding: 'hex',
    // The secret looks like base64 but is used as text.
    key: 'utf8',
    signed: '{body}',
  },
  id: { at: '{json:event.id}', signed: true },
  type: ['{json:event.event_type}'],
  occurredAt: { at: 'json:event.occurred_at', unit: 'iso' },
  maxBytes: 256 * 1024,
  retriesForDays: 2,
});
