import { defineProvider } from './define.ts';

export const postmark = defineProvider({
  name: 'postmark',
  docs: 'https://postmarkapp.com/developer/webhooks/webhooks-overview',
  // Nothing is signed. The user and password stand in the webhook's URL, or in its settings.
  scheme: { token: 'header:authorization', basic: true },
  // One message has many recipients, each of whom may open it many times.
  id: {
    at: '{json?:RecordType}:{json:MessageID}:{json?:ID}:{json?:Recipient}:{json?:ReceivedAt}:{json?:ChangedAt}',
    signed: false,
  },
  // Inbound messages name no type.
  type: ['{json:RecordType}', 'inbound'],
  occurredAt: { at: ['json:BouncedAt', 'json:DeliveredAt', 'json:ReceivedAt', 'json:ChangedAt'], unit: 'iso' },
  // Messages that come in hold their attachments. Postmark takes 35 MB of them, and a Worker's 128 MB would have to hold
  // several copies.
  maxBytes: 5 * 1024 * 1024,
});
