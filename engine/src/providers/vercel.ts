import { defineProvider } from './define.ts';

export const vercel = defineProvider({
  name: 'vercel',
  docs: 'https://vercel.com/docs/webhooks/webhooks-api',
  // An account's webhook has its own secret. An integration's webhooks are signed with its client secret.
  scheme: {
    algorithm: 'hmac-sha1',
    signature: 'header:x-vercel-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:createdAt', unit: 'ms' },
  retriesForDays: 1,
});
