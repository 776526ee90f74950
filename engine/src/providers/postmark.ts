import { defineProvider } from './define.ts';

export const postmark = defineProvider({
  name: 'postmark',
  docs: 'https://postmarkapp.com/developer/webhooks/webhooks-overview',
  // Postmark signs nothing. User and password are part of the webhook's URL, or are set in its settings.
  scheme: { token: 'header:authorization', basic: true },
  id: {
    at: [
      // The same on every retry, but it comes "when available". If a retry alone has it, their equal bodies park it.
      '{header:x-pm-webhook-trace-id}',
      // One message has many recipients, and each of them can open it and click its links many times. If an address is
      // suppressed or reactivated by hand, MessageID is null.
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
