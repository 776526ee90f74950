import { defineProvider } from './define.ts';

export const dropbox = defineProvider({
  name: 'dropbox',
  docs: 'https://www.dropbox.com/developers/reference/webhooks',
  scheme: { signature: 'header:x-dropbox-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // A notification only says whose files have changed, and two changes may have the same body. So every delivery counts
  // as a new event.
  id: { at: '{random}', signed: false, bodiesRepeat: true },
  type: ['changed'],
  handshakes: [
    {
      method: 'GET',
      // Anybody can send this request, so only a text that looks like a token is echoed.
      when: [{ at: 'query:challenge', like: /^[\w.~-]{1,256}$/ }],
      reply: { status: 200, text: '{query:challenge}' },
    },
  ],
});
