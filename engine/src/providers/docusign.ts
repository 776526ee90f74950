import { defineProvider } from './define.ts';

export const docusign = defineProvider({
  name: 'docusign',
  docs: 'https://developers.docusign.com/platform/webhooks/connect/hmac/',
  scheme: {
    // DocuSign sends one header for each configured key, numbered from 1 to 100. A rotation needs fewer than five.
    signature: [
      'header:x-docusign-signature-1',
      'header:x-docusign-signature-2',
      'header:x-docusign-signature-3',
      'header:x-docusign-signature-4',
      'header:x-docusign-signature-5',
    ],
    encoding: 'base64',
    // The secret looks like base64 but is used as text.
    key: 'utf8',
    signed: '{body}',
  },
  // Two recipients can be notified, or can sign, at the same moment. A hash can't be the id, because the body counts
  // the retries.
  id: {
    at: '{json:event}:{json:data.envelopeId}:{json?:data.recipientId}:{json:generatedDateTime}',
    signed: true,
  },
  type: ['{json:event}'],
  occurredAt: { at: 'json:generatedDateTime', unit: 'iso' },
  retriesForDays: 15,
});
