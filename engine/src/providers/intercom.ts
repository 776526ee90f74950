import { defineProvider } from './define.ts';

export const intercom = defineProvider({
  name: 'intercom',
  docs: 'https://developers.intercom.com/docs/webhooks',
  // Bitbucket uses the same header with another algorithm.
  scheme: {
    algorithm: 'hmac-sha1',
    signature: 'header:x-hub-signature#sha1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // The body counts the attempts, so its hash differs on every attempt. A ping has no id, so its time is used.
  id: { at: ['{json:id}', '{json:topic}:{json:created_at}'], signed: true },
  type: ['{json:topic}'],
  occurredAt: { at: 'json:created_at', unit: 's' },
});
