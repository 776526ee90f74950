import { defineProvider } from './define.ts';

export const adyen = defineProvider({
  name: 'adyen',
  docs: 'https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures/',
  scheme: {
    perItem: true,
    signature: 'json:additionalData.hmacSignature',
    encoding: 'base64',
    key: 'hex',
    // These fields and no others: what else an item says is only as good as the connection it came over.
    signed:
      '{json?:pspReference}:{json?:originalReference}:{json?:merchantAccountCode}:{json?:merchantReference}:{json?:amount.value}:{json?:amount.currency}:{json?:eventCode}:{json?:success}',
  },
  batch: { each: ['notificationItems.*.NotificationRequestItem'] },
  id: {
    at: '{json:eventCode}:{json:pspReference}:{json:success}',
    signed: true,
    // A merchant's own reference may hold colons too: what is signed could be cut into other fields, with another id.
    replayKey: '{json:additionalData.hmacSignature}',
  },
  type: ['{json:eventCode}'],
  occurredAt: { at: 'json:eventDate', unit: 'iso' },
  ack: { status: 200, text: '[accepted]' },
  // As long as DEDUPE_DAYS is at first: who receives from Adyen raises it.
  retriesForDays: 30,
});
