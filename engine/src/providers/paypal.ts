import { certified } from '../verify/certificates.ts';
import { defineProvider } from './define.ts';

export const paypal = defineProvider({
  name: 'paypal',
  docs: 'https://developer.paypal.com/api/rest/webhooks/rest/',
  scheme: certified({
    signature: 'header:paypal-transmission-sig',
    // The id proves that a delivery is for your webhook. The host separates the sandbox from the live environment.
    settings: { webhookId: /^[A-Z0-9]{10,30}$/, host: /^api\.(sandbox\.)?paypal\.com$/ },
    certificate: 'header:paypal-cert-url',
    from: ['https://{host}/v1/notifications/certs/*'],
    claims: [{ at: 'header:paypal-auth-algo', is: 'SHA256withRSA' }],
    signed: [{ text: '{header:paypal-transmission-id}|{header:paypal-transmission-time}|{webhookId}|{crc32}' }],
    // PayPal retries for three days.
    timestamp: { at: 'header:paypal-transmission-time', unit: 'iso', windowSeconds: 4 * 86_400 },
  }),
  // Anybody can make another body with the same CRC-32. The signature is the replay key, so such a body can't pass as
  // another event.
  id: { at: '{json:id}', signed: true, replayKey: '{header:paypal-transmission-sig}' },
  type: ['{json:event_type}'],
  occurredAt: { at: 'json:create_time', unit: 'iso' },
  retriesForDays: 3,
});
