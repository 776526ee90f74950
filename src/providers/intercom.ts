import { defineProvider } from './define.ts';

export const intercom = defineProvider({
  name: 'intercom',
  docs: 'https://developers.intercom.com/docs/webhooks',
  // The same header as at Bitbucket, with another hash.
  scheme: {
    algorithm: 'hmac-sha1',
    signature: 'header:x-hub-signature#sha1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // The body counts the attempts, so that only the id stays the same. A ping has none: its time stands in for it.
  id: { at: ['{json:id}', '{json:topic}:{json:created_at}', '{json:topic}:{sha256}'], signed: true },
  type: ['{json:topic}'],
  occurredAt: { at: 'json:created_at', unit: 's' },
});
