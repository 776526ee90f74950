import { defineProvider } from './define.ts';

export const dropbox = defineProvider({
  name: 'dropbox',
  docs: 'https://www.dropbox.com/developers/reference/webhooks',
  scheme: { signature: 'header:x-dropbox-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // Only says who has news. The same body comes again with the next news, so every delivery is an event.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  type: ['changed'],
  handshakes: [
    {
      method: 'GET',
      // Nothing proves that Dropbox asks: no more comes back than could be a token.
      when: [{ at: 'query:challenge', like: /^[\w.~-]{1,256}$/ }],
      reply: { status: 200, text: '{query:challenge}' },
    },
  ],
});
