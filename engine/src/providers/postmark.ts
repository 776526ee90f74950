import { defineProvider } from './define.ts';

export const postmark = defineProvider({
  name: 'postmark',
  docs: 'https://postmarkapp.com/developer/webhooks/webhooks-overview',
  // Postmark doesn't sign. User and password are part of the webhook's URL or are set in its settings.
  scheme: { token: 'header:authorization', basic: true },
  id: {
    at: [
      // This id is the same on every retry, but it is sent only "when available". If only the retry has it, the retry
      // is parked because its body is known.
      '{header:x-pm-webhook-trace-id}',
      // A message can have many recipients, and each can open it and click its links many times. MessageID is null if
      // an address is suppressed or reactivated by hand.
      '{json?:RecordType}:{json:MessageID}:{json?:ID}:{json?:Recipient}{json?:Email}:{json?:DeliveredAt}{json?:BouncedAt}{json?:ReceivedAt}{json?:ChangedAt}:{json?:OriginalLink}',
    ],
    signed: false,
  },
  // Inbound messages have no RecordType.
  type: ['{json:RecordType}', 'inbound'],
  occurredAt: { at: ['json:BouncedAt', 'json:DeliveredAt', 'json:ReceivedAt', 'json:ChangedAt'], unit: 'iso' },
  // Inbound messages contain their attachments. Postmark allows 35 MB, but a Worker's 128 MB can't hold several copies
  // of such a body.
  maxBytes: 5 * 1024 * 1024,
});
