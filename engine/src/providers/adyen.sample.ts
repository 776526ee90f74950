import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['AUTHORISATION', 'CAPTURE', 'REFUND'],
  id: short,
  body: (id, type, now) => ({
    live: 'false',
    notificationItems: [
      {
        NotificationRequestItem: {
          additionalData: { hmacSignature: '{signature}' },
          amount: { currency: 'EUR', value: 4200 },
          eventCode: type,
          eventDate: now.toISOString(),
          merchantAccountCode: 'SampleAccount',
          merchantReference: 'order-1',
          pspReference: id,
          success: 'true',
        },
      },
    ],
  }),
};
