import { defineProvider } from './define.ts';

export const asana = defineProvider({
  name: 'asana',
  docs: 'https://developers.asana.com/docs/webhooks-guide',
  // Each webhook has its own secret, which Asana sends when the webhook is created. So each webhook needs its own
  // source.
  scheme: { signature: 'header:x-hook-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // Every eight hours Asana sends an empty list as a heartbeat.
  batch: { each: ['events.*'] },
  id: { at: '{sha256}', signed: true },
  type: ['{json:resource.resource_type}.{json:action}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  handshakes: [
    {
      method: 'POST',
      when: [{ at: 'header:x-hook-secret', like: /^[\w.~-]{16,256}$/ }],
      handsOver: 'header:x-hook-secret',
      reply: { status: 200, headers: { 'x-hook-secret': '{header:x-hook-secret}' } },
    },
  ],
  retriesForDays: 1,
});
