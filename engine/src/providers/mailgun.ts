import { defineProvider } from './define.ts';

export const mailgun = defineProvider({
  name: 'mailgun',
  docs: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
  scheme: {
    // An event of a sub-account is signed twice: with the sub-account's key and with the parent account's.
    signature: ['json:signature.signature', 'json:signature.parent-signature'],
    encoding: 'hex',
    key: 'utf8',
    // The body is not signed, so somebody who has captured a token could send it with another body.
    signed: '{json:signature.timestamp}{json:signature.token}',
    // Mailgun retries for eight hours, and recommends a generous window.
    timestamp: { at: 'json:signature.timestamp', unit: 's', windowSeconds: 9 * 3600 },
  },
  // An id is unique only within a day, so the time is part of it. The body isn't signed, so the token is the replay
  // key, as Mailgun recommends.
  id: {
    at: '{json:event-data.id}:{json:event-data.timestamp}',
    signed: false,
    replayKey: '{json:signature.token}',
    // It is not documented whether a retry has the same token.
    retriesDiffer: true,
  },
  type: ['{json:event-data.event}'],
  occurredAt: { at: 'json:event-data.timestamp', unit: 's' },
});
