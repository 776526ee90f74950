import { defineProvider } from './define.ts';

export const workos = defineProvider({
  name: 'workos',
  docs: 'https://workos.com/docs/events/data-syncing/webhooks',
  scheme: {
    signature: 'header:workos-signature#v1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{header:workos-signature#t}.{body}',
    timestamp: { at: 'header:workos-signature#t', unit: 'ms', windowSeconds: 300 },
  },
  id: { at: '{json:id}', signed: true },
  type: ['{json:event}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 3,
});
