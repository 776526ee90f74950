import { defineProvider } from './define.ts';

export const adyen = defineProvider({
  name: 'adyen',
  docs: 'https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures/',
  scheme: {
    perItem: true,
    signature: 'json:additionalData.hmacSignature',
    encoding: 'base64',
    key: 'hex',
    // Only these fields are signed. Any other field of an item, such as eventDate, could have been changed in transit.
    signed:
      '{json?:pspReference}:{json?:originalReference}:{json?:merchantAccountCode}:{json?:merchantReference}:{json?:amount.value}:{json?:amount.currency}:{json?:eventCode}:{json?:success}',
  },
  batch: { each: ['notificationItems.*.NotificationRequestItem'] },
  id: {
    at: '{json:eventCode}:{json:pspReference}:{json:success}',
    signed: true,
    // The signed text joins the fields with colons, and a field may contain colons itself. Somebody could split a
    // captured text into different fields with another id, and the signature would still match. So the signature is the
    // replay key.
    replayKey: '{json:additionalData.hmacSignature}',
  },
  type: ['{json:eventCode}'],
  occurredAt: { at: 'json:eventDate', unit: 'iso' },
  ack: { status: 200, text: '[accepted]' },
  // This equals the default of DEDUPE_DAYS, so a receiver of Adyen's events must set a higher value.
  retriesForDays: 30,
});
