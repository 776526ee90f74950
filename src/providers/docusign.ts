import { defineProvider } from './define.ts';

export const docusign = defineProvider({
  name: 'docusign',
  docs: 'https://developers.docusign.com/platform/webhooks/connect/hmac/',
  scheme: {
    // A header for each key that is configured, numbered from 1. More than the verifier looks at are not needed.
    signature: [
      'header:x-docusign-signature-1',
      'header:x-docusign-signature-2',
      'header:x-docusign-signature-3',
      'header:x-docusign-signature-4',
      'header:x-docusign-signature-5',
    ],
    encoding: 'base64',
    // Ends in `=` like base64, and is used as it is.
    key: 'utf8',
    signed: '{body}',
  },
  // Two recipients may be told of, or sign, in the same moment.
  id: {
    at: '{json:event}:{json:data.envelopeId}:{json?:data.recipientId}:{json:generatedDateTime}',
    signed: true,
  },
  type: ['{json:event}'],
  occurredAt: { at: 'json:generatedDateTime', unit: 'iso' },
});
