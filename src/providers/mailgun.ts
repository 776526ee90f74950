import { defineProvider } from './define.ts';

export const mailgun = defineProvider({
  name: 'mailgun',
  docs: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
  scheme: {
    signature: 'json:signature.signature',
    encoding: 'hex',
    key: 'utf8',
    // The body is not signed: whoever has seen a token could write another body around it.
    signed: '{json:signature.timestamp}{json:signature.token}',
    // Retried for eight hours, and Mailgun asks for a generous window.
    timestamp: { at: 'json:signature.timestamp', unit: 's', windowSeconds: 9 * 3600 },
  },
  // So the token is claimed as well, and comes once, as Mailgun advises.
  id: { at: '{json:event-data.id}', signed: false, replayKey: '{json:signature.token}' },
  type: ['{json:event-data.event}'],
  occurredAt: { at: 'json:event-data.timestamp', unit: 's' },
});
