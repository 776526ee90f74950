import { defineProvider } from './define.ts';

export const typeform = defineProvider({
  name: 'typeform',
  docs: 'https://www.typeform.com/developers/webhooks/secure-your-webhooks/',
  // The signature is base64, although the prefix sha256= usually means hex.
  scheme: { signature: 'header:typeform-signature#sha256', encoding: 'base64', key: 'utf8', signed: '{body}' },
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:event_type}'],
  occurredAt: { at: 'json:form_response.submitted_at', unit: 'iso' },
});
